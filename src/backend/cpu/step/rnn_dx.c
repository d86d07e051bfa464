/* rnn_dx.c - gradients of recurrent cells: a scan whose body is that of a GRU or LSTM, as one loop.
 *
 * Rows of the batch are independent: tasks share them, and a task runs all iterations of a few rows
 * before those of the next: then it reads and writes few places, each from one end to the other. R
 * is packed once; an iteration is the cell's kernel, which writes the gates' gradients where they
 * belong, and one product that reads them there. The bits are those of the body run iteration by
 * iteration.
 */
#include <string.h>

#include "backend/cpu/child.h"
#include "backend/cpu/rnn/match_dx.h"
#include "base/size.h"
#include "kernel/gemm_f32/gemm_f32.h"
#include "kernel/pack/pack.h"
#include "plan/execute.h"

/* Rows of a product: whole tiles of 6, 8, 12 and 16 rows; one tile if R stays in the nearest cache
 * anyway. */
enum { ROWS = 48, NEAR_BYTES = 64 << 10 };

/* The position of a tensor of [iterations, rows], in elements. */
typedef struct lane {
    size_t iteration, row;
} lane;

typedef struct facts {
    takt_rnn_dx_match m;
    takt_rnn_dx_f32_fn *cell;
    takt_gemm_f32_fn *gemm;
    takt_pack_fn *pack;
    takt_panels panels;
    lane dy, start, kept[TAKT_RNN_DX_KEPT], to[2];
    size_t length, rows; /* rows: of a product at most */
    bool reverse;
    size_t packed_at, product_at; /* bytes into the shared scratch */
} facts;

static int axis_of(const takt_node *n, const char *name, size_t i)
{
    const takt_attr *list = takt_node_attr(n, name);
    const int64_t axis = i < list->count ? list->i64s[i] : 0;
    return (int)(axis < 0 ? axis + 3 : axis);
}

/* Units are contiguous in all sequences. */
static bool find(const takt_node *n, takt_rnn_dx_match *m)
{
    bool good = takt_rnn_dx_find(n, m);
    for (size_t i = 0; good && i < (size_t)takt_node_int(n, "sequences"); i++)
        good = axis_of(n, "axes", i) < 2;
    for (size_t i = 0; good && i < n->out_count - (size_t)takt_node_int(n, "carried"); i++)
        good = axis_of(n, "out_axes", i) < 2;
    return good;
}

static const char *accepts(const takt_graph *g, takt_id node)
{
    takt_rnn_dx_match m;
    return g->nodes[node].op == &takt_op_scan && find(&g->nodes[node], &m) ? NULL : "";
}

/* ---- running ---- */

static float *packed_of(const facts *f, const takt_task *t)
{
    return (float *)(void *)((char *)t->scratch + f->packed_at);
}

static float *product_of(const facts *f, const takt_task *t)
{
    return (float *)(void *)((char *)t->scratch + f->product_at);
}

static void before(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const size_t units = f->m.units, all = f->m.gates * units;
    const takt_pack pack = {.k = all,
                            .n = units,
                            .src = takt_view_data(t, &s->in[f->m.r]),
                            .row = f->m.is_transposed ? 1 : units,
                            .col = f->m.is_transposed ? all : 1,
                            .dst = packed_of(f, t),
                            .bytes = sizeof(float),
                            .panels = f->panels};
    f->pack(&pack);
}

/* The beginning of row `row` of element `at` of a sequence. */
static float *place(const takt_task *t, const takt_view *v, const lane *l, size_t at, size_t row)
{
    return (float *)takt_view_data(t, v) + at * l->iteration + row * l->row;
}

/* Gradients of the state and of the cell before an iteration, and after it. */
static void set_carried(const facts *f, const takt_step *s, const takt_task *t, size_t iteration,
                        takt_rnn_dx_f32 *x)
{
    const bool is_gru = f->m.kind == TAKT_RNN_DX_GRU;
    float *next = takt_view_data(t, &s->out[is_gru ? f->m.dh_out : f->m.dc_out]);
    if (iteration == 0) {
        x->dh = takt_view_data(t, &s->in[f->m.dh]);
        x->dc = is_gru ? NULL : takt_view_data(t, &s->in[f->m.dc]);
    } else {
        x->dh = is_gru ? next : product_of(f, t);
        x->more = is_gru ? product_of(f, t) : NULL;
        x->dc = is_gru ? NULL : next;
    }
    x->dh_next = is_gru ? next : NULL;
    x->dc_next = is_gru ? NULL : next;
}

/* Rows [row, row + rows) of an iteration. */
static void run_cell(const facts *f, const takt_step *s, const takt_task *t, size_t iteration,
                     takt_rnn_dx_f32 *x, size_t row)
{
    const size_t at = f->reverse ? f->length - 1 - iteration : iteration, units = f->m.units;
    set_carried(f, s, t, iteration, x);
    const float **const moved[] = {&x->dh, &x->more, &x->dc};
    for (size_t i = 0; i < sizeof moved / sizeof *moved; i++)
        *moved[i] = *moved[i] != NULL ? *moved[i] + row * units : NULL;
    x->dh_next = x->dh_next != NULL ? x->dh_next + row * units : NULL;
    x->dc_next = x->dc_next != NULL ? x->dc_next + row * units : NULL;
    x->dy = f->m.dy >= 0 ? place(t, &s->in[f->m.dy], &f->dy, at, row) : NULL;
    x->start = place(t, &s->in[f->m.start], &f->start, at, row);
    for (int k = 0; k < TAKT_RNN_DX_KEPT; k++)
        x->kept[k] =
            f->m.kept[k] >= 0 ? place(t, &s->in[f->m.kept[k]], &f->kept[k], at, row) : NULL;
    for (int i = 0; i < 2; i++)
        for (size_t k = 0; f->m.to[i] >= 0 && k < f->m.gates; k++)
            x->to[i][k] =
                place(t, &s->out[f->m.to[i]], &f->to[i], at, row) + (size_t)f->m.gate[k] * units;
    f->cell(x);
}

static void multiply(const facts *f, const takt_task *t, const takt_rnn_dx_f32 *x, const float *a,
                     size_t row)
{
    const takt_gemm_f32 g = {.m = x->rows,
                             .n = f->m.units,
                             .k = f->m.gates * f->m.units,
                             .a = a,
                             .a_row = f->to[1].row,
                             .a_col = 1,
                             .b = packed_of(f, t),
                             .b_n = f->m.units,
                             .c = product_of(f, t) + row * f->m.units,
                             .ldc = f->m.units,
                             .scratch = t->scratch_own,
                             .poll = t->poll};
    f->gemm(&g);
}

/* Rows [row, row + x->rows). */
static void run_iteration(const facts *f, const takt_step *s, const takt_task *t, size_t iteration,
                          takt_rnn_dx_f32 *x, size_t row)
{
    const size_t at = f->reverse ? f->length - 1 - iteration : iteration;
    x->more = NULL;
    run_cell(f, s, t, iteration, x, row);
    multiply(f, t, x, place(t, &s->out[f->m.to[1]], &f->to[1], at, row), row);
}

/* All iterations of these rows; false: the run is stopped. */
static bool run_rows(const facts *f, const takt_step *s, const takt_task *t, size_t row,
                     size_t rows)
{
    takt_rnn_dx_f32 x = {.kind = f->m.kind,
                         .rows = rows,
                         .n = f->m.units,
                         .stride = f->m.units,
                         .dy_stride = f->dy.row,
                         .start_stride = f->start.row,
                         .to_stride = {f->to[0].row, f->to[1].row}};
    for (int k = 0; k < TAKT_RNN_DX_KEPT; k++)
        x.kept_stride[k] = f->kept[k].row;
    for (size_t iteration = 0; iteration < f->length; iteration++) {
        if (takt_poll_stops(t->poll))
            return false;
        run_iteration(f, s, t, iteration, &x, row);
    }
    return true;
}

/* The gradients of the first state, after the last iteration. */
static void finish(const facts *f, const takt_step *s, const takt_task *t, const size_t range[2])
{
    const size_t first = range[0] * f->m.units, count = (range[1] - range[0]) * f->m.units;
    float *dh = (float *)takt_view_data(t, &s->out[f->m.dh_out]) + first;
    const float *product = product_of(f, t) + first;
    if (f->length == 0) {
        const float *dh_in = takt_view_data(t, &s->in[f->m.dh]);
        memcpy(dh, dh_in + first, count * sizeof *dh);
        if (f->m.dc >= 0)
            memcpy((float *)takt_view_data(t, &s->out[f->m.dc_out]) + first,
                   (const float *)takt_view_data(t, &s->in[f->m.dc]) + first, count * sizeof *dh);
    } else if (f->m.kind == TAKT_RNN_DX_LSTM) {
        memcpy(dh, product, count * sizeof *dh);
    } else {
        for (size_t i = 0; i < count; i++)
            dh[i] += product[i];
    }
}

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    size_t range[2];
    takt_cpu_share(f->m.batch, 1, t->index, s->task_count, &range[0], &range[1]);
    for (size_t row = range[0], rows; row < range[1]; row += rows) {
        rows = range[1] - row < f->rows ? range[1] - row : f->rows;
        if (!run_rows(f, s, t, row, rows))
            return;
    }
    finish(f, s, t, range);
}

/* ---- compiling ---- */

static lane lane_of(const takt_view *v, int axis)
{
    return (lane){.iteration = (size_t)v->stride[axis],
                  .row = (size_t)v->stride[axis == 0 ? 1 : 0]};
}

static void add_sequence(const takt_planner *p, const takt_node *n, const size_t *index, int *input,
                         lane *l)
{
    if (*input < 0)
        return;
    const size_t sequence = (size_t)*input - (size_t)takt_node_int(n, "carried");
    *input = (int)index[*input];
    *l = lane_of(&p->step->in[*input], axis_of(n, "axes", sequence));
}

static takt_status add_inputs(takt_planner *p, const takt_node *n, facts *f)
{
    takt_rnn_dx_match *m = &f->m;
    size_t *index = takt_planner_get(p, n->in_count * sizeof *index);
    if (index == NULL)
        return TAKT_ERR_MEMORY;
    for (uint32_t k = 0; k < n->in_count; k++)
        TAKT_TRY(takt_planner_input(p, n->in[k], &index[k]));
    add_sequence(p, n, index, &m->dy, &f->dy);
    add_sequence(p, n, index, &m->start, &f->start);
    for (int k = 0; k < TAKT_RNN_DX_KEPT; k++)
        add_sequence(p, n, index, &m->kept[k], &f->kept[k]);
    m->dh = (int)index[m->dh];
    m->dc = m->dc >= 0 ? (int)index[m->dc] : -1;
    m->r = (int)index[m->r];
    return TAKT_OK;
}

static takt_status add_results(takt_planner *p, const takt_node *n, facts *f)
{
    const size_t carried = (size_t)takt_node_int(n, "carried");
    size_t index[4] = {0}; /* two carried values and two scanned ones at most */
    for (uint32_t k = 0; k < n->out_count; k++)
        TAKT_TRY(takt_planner_result(p, p->group->nodes[0], k, &index[k]));
    for (int i = 0; i < 2; i++)
        if (f->m.to[i] >= 0) {
            const size_t scanned = (size_t)f->m.to[i] - carried;
            f->m.to[i] = (int)index[f->m.to[i]];
            f->to[i] = lane_of(&p->step->out[f->m.to[i]], axis_of(n, "out_axes", scanned));
        }
    f->m.dh_out = (int)index[f->m.dh_out];
    f->m.dc_out = f->m.dc_out >= 0 ? (int)index[f->m.dc_out] : -1;
    return TAKT_OK;
}

static takt_status set_scratch(takt_planner *p, facts *f, const takt_gemm_f32_info *info)
{
    const size_t units = f->m.units, all = f->m.gates * units;
    size_t packed, most = 0;
    if (!takt_size_mul(takt_panels_columns(f->panels, units), all * sizeof(float), &packed))
        return takt_fail(p->ctx, TAKT_E_OVERFLOW, "packed recurrent weights are too large");
    TAKT_TRY(takt_scratch_add(p, packed, &f->packed_at));
    TAKT_TRY(takt_scratch_add(p, f->m.batch * units * sizeof(float), &f->product_at));
    f->rows = packed <= NEAR_BYTES ? info->rows : ROWS;
    for (size_t rows = 1; rows <= f->rows && rows <= f->m.batch; rows++) {
        const takt_gemm_f32 g = {
            .m = rows, .n = units, .k = all, .a_row = f->to[1].row, .a_col = 1};
        const size_t bytes = info->scratch_bytes(&g);
        most = bytes > most ? bytes : most;
    }
    p->step->scratch_each = takt_cpu_aligned(most);
    return TAKT_OK;
}

/* One for each thread, with whole tiles of rows for the product where there are enough. */
static void set_tasks(takt_planner *p, const facts *f)
{
    enum { GATE = 12, TILE = 8 }; /* a gate takes as long as this many operations */
    const double iterations = (double)f->length, units = (double)f->m.units;
    const double gates = (double)f->m.gates, rows = (double)f->m.batch;
    const double product = 2 * rows * units * units * gates, cell = rows * units * gates;
    const size_t threads = (size_t)(p->settings->threads < 1 ? 1 : p->settings->threads);
    const size_t tiles = (f->m.batch + TILE - 1) / TILE, most = tiles < threads ? tiles : threads;
    p->step->cost.flops = iterations * (product + GATE * cell);
    const size_t tasks = takt_cpu_tasks(p, p->step->cost.flops,
                                        iterations * units * units * gates * (double)sizeof(float),
                                        most < 1 ? 1 : most);
    p->step->task_count = tasks < 1 ? 1 : tasks;
}

static takt_status compile(takt_planner *p)
{
    const takt_node *n = &p->graph->nodes[p->group->nodes[0]];
    facts *f = takt_planner_get(p, sizeof *f);
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    takt_planner_rigid(p); /* the body that it is recognised by is never resized */
    (void)find(n, &f->m);
    const takt_kernel *gemm = takt_planner_find(p, "gemm_f32");
    const takt_gemm_f32_info *info = gemm->info;
    const size_t first = (size_t)takt_node_int(n, "carried");
    f->cell = takt_kernel_as_rnn_dx_f32(takt_planner_kernel(p, "rnn_dx_f32"));
    f->gemm = takt_kernel_as_gemm_f32(gemm);
    f->pack = takt_kernel_as_pack(takt_planner_find(p, "pack"));
    f->panels = info->panels;
    f->length = (size_t)takt_type_of(p->graph, n->in[first])->dim[axis_of(n, "axes", 0)];
    f->reverse = takt_node_int(n, "reverse") != 0;
    TAKT_TRY(add_inputs(p, n, f));
    TAKT_TRY(add_results(p, n, f));
    TAKT_TRY(set_scratch(p, f, info));
    set_tasks(p, f);
    p->step->run = run;
    p->step->before = before;
    p->step->data = f;
    return TAKT_OK;
}

const takt_cpu_kind takt_cpu_rnn_dx = {
    .name = "rnn_dx", .family = TAKT_FAMILY_RNN, .accepts = accepts, .compile = compile};
