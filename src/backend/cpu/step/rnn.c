/* rnn.c - recurrent cells: a scan whose body is a plain, LSTM or GRU cell, as one loop.
 *
 * The product of all inputs with their weights is a step before this one. Here R is packed when the
 * plan is made, or once at the start of the step; the bits are those of the body run iteration by
 * iteration.
 */
#include "backend/cpu/rnn/bytes.h"

#include <stdio.h>
#include <string.h>

#include "backend/cpu/child.h"
#include "backend/cpu/cpu.h"
#include "base/mem.h"
#include "base/size.h"

static const char *accepts(const takt_graph *g, takt_id node)
{
    takt_rnn_match m;
    return g->nodes[node].op == &takt_op_scan ? takt_rnn_find_near(&g->nodes[node], &m) : "";
}

/* The inputs of the gates: a gradient in mixed precision would keep them in f32 as a whole. */
static bool converts(const takt_graph *g, takt_id node, uint32_t k)
{
    takt_rnn_match m;
    const takt_node *n = &g->nodes[node];
    return takt_rnn_find_near(n, &m) == NULL && (int)k == m.x &&
           takt_type_of(g, n->in[k])->dtype == TAKT_F32;
}

/* ---- operands ---- */

static takt_status fill_packed(void *user, const void *from, void *to)
{
    const takt_rnn_facts *f = user;
    const size_t bytes = f->m.gates * f->m.units * f->m.units * f->wide;
    void *ordered;
    TAKT_TRY(takt_mem_get(f->ctx, bytes, "recurrent weights to pack", &ordered));
    if (f->m.is_bytes)
        takt_rnn_bytes_pack(f, from, ordered, to);
    else
        takt_rnn_pack(f, from, ordered, to);
    takt_mem_put(f->ctx, ordered, bytes);
    return TAKT_OK;
}

/* The same for a state. */
static void pack_state(const takt_step *s, const takt_task *t)
{
    takt_rnn_pack(s->data, takt_view_data(t, &s->in[0]), t->scratch, takt_view_data(t, &s->out[0]));
}

enum { FORMAT = 80 };

/* Packed R is looked up by everything that its form depends on. */
static void write_format(const takt_rnn_facts *f, char format[static FORMAT])
{
    const takt_rnn_match *m = &f->m;
    snprintf(format, FORMAT, "rnn%d%d-%zu-%d%d%d%d%c%zu", (int)m->form.kind, m->form.couples,
             f->block, m->gate[0], m->gate[1], m->gate[2], m->gate[3], m->is_transposed ? 't' : 'n',
             m->is_bytes ? f->bytes.info->group : 0);
}

static takt_status add_packed(takt_planner *p, takt_rnn_facts *f, takt_id r)
{
    char format[FORMAT];
    const takt_rnn_match *m = &f->m;
    write_format(f, format);
    if (takt_planner_is_constant(p, r))
        return takt_planner_packed(p, r, format, f->packed_count * f->packed_size, fill_packed, f,
                                   &f->packed);
    takt_rnn_facts *kept = takt_planner_get(p, sizeof *kept);
    if (kept == NULL)
        return TAKT_ERR_MEMORY;
    *kept = *f; /* fixed for this form, whatever sizes the step gets later */
    const takt_packer how = {.format = format,
                             .bytes = f->packed_count * f->packed_size,
                             .run = pack_state,
                             .data = kept,
                             .parts = 1,
                             .room = m->gates * m->units * m->units * f->wide};
    return takt_planner_form(p, r, &how, &f->packed);
}

/* A number of the scan's input, or result, becomes that of the step's. */
static void renumber(int *number, const size_t *index)
{
    if (*number >= 0 && *number < TAKT_RNN_INNER)
        *number = (int)index[*number];
}

static takt_status fill_vector(void *user, const void *from, void *to)
{
    memcpy(to, from, *(const size_t *)user);
    return TAKT_OK;
}

static takt_status add_vector(takt_planner *p, const takt_node *n, int *number)
{
    size_t index;
    if (*number < TAKT_RNN_INNER)
        return TAKT_OK;
    const takt_tensor *from = takt_rnn_inner(n, *number);
    size_t bytes = takt_tensor_bytes(from);
    TAKT_TRY(takt_planner_inner(p, from, "", bytes, fill_vector, &bytes, &index));
    *number = (int)index;
    return TAKT_OK;
}

/* R, bias and peepholes that the body itself holds. */
static takt_status add_inner(takt_planner *p, const takt_node *n, takt_rnn_facts *f)
{
    char format[FORMAT];
    write_format(f, format);
    if (f->m.r >= TAKT_RNN_INNER)
        TAKT_TRY(takt_planner_inner(p, takt_rnn_inner(n, f->m.r), format,
                                    f->packed_count * f->packed_size, fill_packed, f, &f->packed));
    TAKT_TRY(add_vector(p, n, &f->m.bias));
    return add_vector(p, n, &f->m.peephole);
}

static takt_status add_inputs(takt_planner *p, const takt_node *n, takt_rnn_facts *f)
{
    takt_rnn_match *m = &f->m;
    size_t *index = takt_planner_get(p, n->in_count * sizeof *index);
    if (index == NULL)
        return TAKT_ERR_MEMORY;
    f->is_packed = m->r >= TAKT_RNN_INNER || takt_planner_is_kept(p, n->in[m->r]);
    for (uint32_t k = 0; k < n->in_count; k++)
        if (f->is_packed && (int)k == m->r)
            TAKT_TRY(add_packed(p, f, n->in[k]));
        else
            TAKT_TRY(takt_planner_input(p, n->in[k], &index[k]));
    const int x_axis = takt_rnn_sequence_axis(n, m->x),
              live_axis = m->live >= 0 ? takt_rnn_sequence_axis(n, m->live) : 0;
    int *const inputs[] = {&m->h,    &m->c,        &m->x,       &m->live,  &m->r,
                           &m->bias, &m->peephole, &m->r_scale, &m->r_zero};
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
        renumber(inputs[i], index);
    TAKT_TRY(add_inner(p, n, f));
    f->x = takt_rnn_lane_of(&p->step->in[m->x], x_axis);
    f->given = p->step->in[m->x].dtype;
    if (m->live >= 0)
        f->live = takt_rnn_lane_of(&p->step->in[m->live], live_axis);
    return TAKT_OK;
}

/* A scanned result, if there is one. */
static void add_lane(takt_planner *p, const takt_node *n, const size_t *index, int *number,
                     takt_rnn_lane *lane)
{
    if (*number < 0)
        return;
    const size_t scanned = (size_t)*number - (size_t)takt_node_int(n, "carried");
    renumber(number, index);
    *lane = takt_rnn_lane_of(&p->step->out[*number], takt_rnn_axis(n, "out_axes", scanned));
}

static takt_status add_results(takt_planner *p, const takt_node *n, takt_rnn_facts *f)
{
    const takt_id id = p->group->nodes[0];
    takt_rnn_match *m = &f->m;
    size_t index[2 + TAKT_RNN_RESULTS] = {0}; /* a cell carries two values at most */
    for (uint32_t k = 0; k < n->out_count; k++)
        TAKT_TRY(takt_planner_result(p, id, k, &index[k]));
    renumber(&m->h_out, index);
    renumber(&m->c_out, index);
    add_lane(p, n, index, &m->y, &f->y);
    for (size_t k = 0; k < TAKT_RNN_STARTS; k++)
        add_lane(p, n, index, &m->start[k], &f->start[k]);
    for (size_t k = 0; k < TAKT_RNN_KEEPS; k++)
        add_lane(p, n, index, &m->keep[k], &f->keep[k]);
    return TAKT_OK;
}

/* ---- shape of the work ---- */

static void add_gate(takt_rnn_product *p, int gate)
{
    p->gates[p->count++] = gate;
}

/* The gates that each half of an iteration multiplies. */
static void set_halves(takt_rnn_facts *f)
{
    f->halves = f->m.form.kind == TAKT_RNN_GRU_RESET ? 2 : 1;
    f->form[0] = f->form[1] = f->m.form;
    f->form[1].kind = TAKT_RNN_GRU_UPDATE;
    const int gates = f->m.form.kind == TAKT_RNN_LSTM    ? 4
                      : f->m.form.kind == TAKT_RNN_PLAIN ? 1
                                                         : 3;
    for (int k = 0; k < gates; k++)
        if (f->halves == 2)
            add_gate(&f->product[k == 2], k);
        else if (!(k == 1 && f->m.form.couples && gates == 4))
            add_gate(&f->product[0], k);
}

/* Blocks whose results stay in a near cache: every block restarts its product, and rearranges
 * its rows for it. As many as the parts can share evenly. */
static takt_status set_blocks(takt_planner *p, takt_rnn_facts *f)
{
    enum { COLUMNS_OF_FEW = 1024, COLUMNS = 512, GRAIN = 4 };
    const size_t units = f->m.units, gates = f->product[0].count;
    const size_t columns = f->m.batch > 4 ? COLUMNS : COLUMNS_OF_FEW;
    const size_t most = columns / gates / GRAIN * GRAIN;
    size_t blocks = (units + most - 1) / most;
    blocks = (blocks + f->parts - 1) / f->parts * f->parts;
    f->block = ((units + blocks - 1) / blocks + GRAIN - 1) / GRAIN * GRAIN;
    f->blocks = (units + f->block - 1) / f->block;
    for (size_t h = 0; h < f->halves; h++) {
        takt_rnn_product *half = &f->product[h];
        size_t all;
        half->at = f->packed_count;
        const size_t wide = half->count * f->block;
        const bool fits = f->m.is_bytes ? takt_rnn_bytes_block(f, wide, &half->block)
                                        : takt_size_mul(takt_panels_columns(f->panels, wide), units,
                                                        &half->block);
        if (!fits || !takt_size_mul(half->block, f->blocks, &all) ||
            !takt_size_add(f->packed_count, all, &f->packed_count))
            return takt_fail(p->ctx, TAKT_E_OVERFLOW, "packed recurrent weights are too large");
    }
    return TAKT_OK;
}

/* Rows are independent, except that bytes get one scale for all of them; but with few of them each
 * would read all of R, while a part of the units reads only its own. That costs a barrier after
 * every iteration. */
static void set_tasks(takt_planner *p, takt_rnn_facts *f)
{
    /* A gate takes as long as GATE operations, and so do FEWER times as many of bytes. */
    enum { ROWS_ENOUGH = 16, GATE = 200, FEWER = 4 };
    const double iterations = (double)f->length, units = (double)f->m.units;
    const double gates = (double)f->m.gates, rows = (double)f->m.batch;
    const double product = 2 * rows * units * units * gates, cell = rows * units * gates;
    const double bytes = units * units * gates * (double)f->packed_size;
    const size_t threads = (size_t)(p->settings->threads < 1 ? 1 : p->settings->threads);
    const double work = product / (f->m.is_bytes ? FEWER : 1) + GATE * cell;
    const size_t tasks = takt_cpu_tasks(p, iterations * work, iterations * bytes, threads);
    const size_t most = (f->m.units + 7) / 8;
    p->step->cost.flops = iterations * (product + 15 * cell);
    f->parts = 1;
    if (tasks == 1)
        return;
    if ((f->m.is_bytes || f->m.batch < tasks * ROWS_ENOUGH) &&
        iterations * 2 * (double)threads < 1e9) {
        const size_t crew = threads < TAKT_CREW_MOST ? threads : TAKT_CREW_MOST;
        f->parts = takt_cpu_tasks(p, work, bytes, crew < most ? crew : most);
    }
    p->step->task_count = f->parts > 1 || f->m.is_bytes ? f->parts
                          : tasks < f->m.batch          ? tasks
                                                        : f->m.batch;
}

/* The most that a product of that many rows, or of those that are left, needs. */
static size_t kernel_bytes(const takt_rnn_facts *f, const void *info)
{
    size_t most = 0;
    for (size_t rows = 1; rows <= takt_rnn_rows(f); rows++)
        for (size_t h = 0; h < f->halves; h++)
            for (size_t last = 0; last < 2; last++) {
                const size_t left = last ? f->m.units - (f->blocks - 1) * f->block : f->block;
                const size_t n = f->product[h].count * left, units = f->m.units;
                takt_gemm_f32 a = {.m = rows, .n = n, .k = units, .a_row = units, .a_col = 1};
                takt_gemm_f64 b = {.m = rows, .n = n, .k = units, .a_row = units, .a_col = 1};
                a.reads_a = b.reads_a = takt_rnn_reads_state(f);
                const size_t bytes = f->compute == TAKT_F64
                                         ? ((const takt_gemm_f64_info *)info)->scratch_bytes(&b)
                                         : ((const takt_gemm_f32_info *)info)->scratch_bytes(&a);
                most = bytes > most ? bytes : most;
            }
    return most;
}

static takt_status choose_kernels(takt_planner *p, takt_rnn_facts *f)
{
    const bool is_f64 = f->compute == TAKT_F64;
    const takt_kernel *cell = takt_planner_kernel(p, is_f64 ? "rnn_f64" : "rnn_f32");
    const takt_kernel *gemm = takt_planner_find(p, is_f64 ? "gemm_f64" : "gemm_f32");
    f->cell = is_f64 ? takt_kernel_as_rnn_f64(cell) : takt_kernel_as_rnn_f32(cell);
    f->pack = takt_kernel_as_pack(takt_planner_find(p, "pack"));
    f->convert = takt_kernel_as_convert(takt_planner_find(p, "convert"));
    f->panels = is_f64 ? ((const takt_gemm_f64_info *)gemm->info)->panels
                       : ((const takt_gemm_f32_info *)gemm->info)->panels;
    if (is_f64)
        f->gemm_f64 = takt_kernel_as_gemm_f64(gemm);
    else
        f->gemm_f32 = takt_kernel_as_gemm_f32(gemm);
    if (f->m.is_bytes)
        takt_rnn_bytes_choose(p, f);
    set_tasks(p, f);
    TAKT_TRY(set_blocks(p, f));
    p->step->scratch_each =
        f->m.is_bytes ? takt_rnn_bytes_scratch(f, takt_rnn_rows(f)) : kernel_bytes(f, gemm->info);
    return TAKT_OK;
}

/* ---- scratch ---- */

static size_t own(takt_step *s, size_t bytes)
{
    const size_t at = takt_cpu_aligned(s->scratch_each);
    s->scratch_each = takt_cpu_aligned(at + bytes);
    return at;
}

static takt_status set_scratch(takt_planner *p, takt_rnn_facts *f)
{
    const bool widens = f->dtype != f->compute;
    const size_t count = f->m.batch * f->m.units * f->wide, rows = takt_rnn_rows(f) * f->block;
    const size_t gates = f->m.gates * f->m.units * f->wide;
    TAKT_TRY(takt_scratch_add(p, sizeof(takt_crew), &f->crew_at));
    TAKT_TRY(takt_scratch_add(p, widens ? count : 0, &f->state_at[0]));
    TAKT_TRY(takt_scratch_add(p, count, &f->state_at[1]));
    TAKT_TRY(takt_scratch_add(p, widens && f->m.c >= 0 ? count : 0, &f->cell_at));
    TAKT_TRY(takt_scratch_add(p, f->halves == 2 ? count : 0, &f->update_at));
    TAKT_TRY(takt_scratch_add(p, f->halves == 2 ? count : 0, &f->reset_at));
    TAKT_TRY(takt_scratch_add(p, widens ? gates : 0, &f->bias_at));
    TAKT_TRY(takt_scratch_add(p, widens ? gates : 0, &f->peephole_at));
    TAKT_TRY(
        takt_scratch_add(p, f->is_packed ? 0 : f->packed_count * f->packed_size, &f->packed_at));
    TAKT_TRY(takt_scratch_add(p, f->is_packed ? 0 : gates * f->m.units, &f->ordered_at));
    f->result_at = own(p->step, TAKT_RNN_GATES * rows * f->wide);
    f->x_at = own(p->step, takt_rnn_widens_x(f) ? TAKT_RNN_GATES * rows * f->wide : 0);
    f->y_at = own(p->step, widens ? rows * f->wide : 0);
    f->keep_at = own(p->step, widens ? TAKT_RNN_KEEPS * rows * f->wide : 0);
    return f->m.is_bytes ? takt_rnn_bytes_rooms(p, f) : TAKT_OK;
}

static takt_status compile(takt_planner *p)
{
    const takt_node *n = &p->graph->nodes[p->group->nodes[0]];
    takt_rnn_facts *f = takt_planner_get(p, sizeof *f);
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    (void)takt_rnn_find_near(n, &f->m);
    const takt_type *x = takt_type_of(p->graph, n->in[f->m.x]);
    f->m.batch = (size_t)takt_type_of(p->graph, n->in[f->m.h])->dim[0]; /* of this size, as x is */
    f->ctx = p->ctx;
    f->dtype = x->dtype;
    f->compute = x->dtype == TAKT_F64 ? TAKT_F64 : TAKT_F32;
    f->size = (size_t)takt_dtype_bits(f->dtype) / 8;
    f->wide = (size_t)takt_dtype_bits(f->compute) / 8;
    f->packed_size = f->m.is_bytes ? 1 : f->wide;
    f->bytes.is_unsigned = f->m.is_bytes && takt_rnn_inner(n, f->m.r)->type.dtype == TAKT_U8;
    f->length = (size_t)x->dim[takt_rnn_sequence_axis(n, f->m.x)];
    f->reverse = takt_node_int(n, "reverse") != 0;
    set_halves(f);
    TAKT_TRY(choose_kernels(p, f));
    TAKT_TRY(add_inputs(p, n, f));
    TAKT_TRY(add_results(p, n, f));
    TAKT_TRY(set_scratch(p, f));
    takt_step *s = p->step;
    s->run = takt_rnn_run;
    s->before = takt_rnn_before;
    s->after = takt_rnn_after;
    s->data = f;
    s->can_fault = true;
    if (s->note == NULL && p->settings->precision != TAKT_F32)
        s->note = "--precision leaves recurrent weights as they are: they stay in the cache";
    else if (s->note == NULL && p->settings->is_fast)
        s->note = "numerics fast leaves the recurrent product exact";
    return TAKT_OK;
}

const takt_cpu_kind takt_cpu_rnn = {.name = "rnn",
                                    .family = TAKT_FAMILY_RNN,
                                    .accepts = accepts,
                                    .converts = converts,
                                    .compile = compile};
