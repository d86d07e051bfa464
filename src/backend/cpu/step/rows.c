/* rows.c - softmax and norms over the last axis, and norms of channels or groups of them that come
 * before their pixels, as one step: a row stays in cache between passes. */
#include "kernel/rows/rows.h"
#include "backend/cpu/cpu.h"
#include "op/util/window.h"
#include "plan/execute.h"

typedef struct facts {
    takt_rows_fn *run;
    takt_rows_step rows; /* without pointers */
    int gamma, beta;     /* indices into step->in, or -1 */
    size_t element;      /* bytes */
} facts;

/* A row is a channel or a group of channels, with all its pixels. */
static bool has_planes(const takt_node *n)
{
    return n->op == &takt_op_instance_norm || n->op == &takt_op_group_norm;
}

static takt_rows_op op_of(const takt_node *n)
{
    if (has_planes(n))
        return TAKT_ROWS_LAYER_NORM;
    if (n->op == &takt_op_softmax)
        return TAKT_ROWS_SOFTMAX;
    if (n->op == &takt_op_log_softmax)
        return TAKT_ROWS_LOG_SOFTMAX;
    if (n->op == &takt_op_layer_norm)
        return TAKT_ROWS_LAYER_NORM;
    return n->op == &takt_op_rms_norm ? TAKT_ROWS_RMS_NORM : TAKT_ROWS_OP_COUNT;
}

/* gamma and beta have one element per column. */
static bool is_vector(const takt_graph *g, takt_id id, int64_t columns)
{
    const takt_type *t = takt_type_of(g, id);
    return t->rank == 1 && t->dim[0] == columns;
}

static bool keeps(const takt_graph *g, const takt_node *n)
{
    if (op_of(n) == TAKT_ROWS_OP_COUNT)
        return false;
    const takt_type *t = n->type;
    const takt_attr *axis = takt_node_attr(n, "axis");
    if (t->dtype != TAKT_F32 && t->dtype != TAKT_F64)
        return false;
    if (has_planes(n))
        return takt_node_int(n, "layout") != TAKT_NHWC && t->rank > 2;
    if (t->rank == 0 || axis == NULL)
        return false;
    if (axis->i64 != -1 && axis->i64 != t->rank - 1)
        return false;
    for (uint32_t k = 1; k < n->in_count; k++)
        if (n->in[k] != TAKT_NONE && !is_vector(g, n->in[k], t->dim[t->rank - 1]))
            return false;
    return true;
}

static const char *accepts(const takt_graph *g, takt_id node)
{
    return keeps(g, &g->nodes[node]) ? NULL : "";
}

/* Elements from row to row, if there is one such number and elements of a row are neighbours. */
static bool row_stride(const takt_view *v, const int64_t *stride, size_t *rows)
{
    int64_t span = 0; /* elements of the inner axes, with gaps */
    bool found = false;
    for (int d = v->rank - 2; d >= 0; d--) {
        if (v->dim[d] == 1)
            continue;
        if (stride[d] < 0 || (found && stride[d] != span))
            return false;
        if (!found)
            *rows = (size_t)stride[d];
        span = stride[d] * v->dim[d];
        found = true;
    }
    return v->dim[v->rank - 1] == 1 || stride[v->rank - 1] == 1;
}

static bool reads_view(const takt_step *s, size_t in, const int64_t *stride)
{
    const facts *f = s->data;
    size_t rows;
    return in == 0 && f->rows.plane == 0 && row_stride(&s->in[0], stride, &rows);
}

enum { POLLED = 1 << 17 }; /* elements between two checks of deadline and cancel */

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    takt_rows_step r = f->rows;
    size_t first, end;
    takt_cpu_share(r.rows, 1, t->index, s->task_count, &first, &end);
    const int64_t *stride = takt_view_stride(t, &s->in[0]);
    if (stride != NULL)
        (void)row_stride(&s->in[0], stride, &r.src_stride);
    r.gamma = f->gamma >= 0 ? takt_view_data(t, &s->in[f->gamma]) : NULL;
    r.beta = f->beta >= 0 ? takt_view_data(t, &s->in[f->beta]) : NULL;
    r.is_back = t->execution != NULL && t->execution->is_back;
    r.poll = t->poll;
    size_t most = end - first, blocks = most > 0;
    if (most * (r.n + 1) > POLLED) {
        most = 1 + POLLED / (r.n + 1);
        blocks = (end - first + most - 1) / most;
    }
    for (size_t i = 0; i < blocks && (i == 0 || !takt_poll_stops(t->poll)); i++) {
        const size_t at = first + (r.is_back ? blocks - 1 - i : i) * most;
        r.rows = end - at < most ? end - at : most;
        r.first = at;
        r.src = (const char *)takt_view_data(t, &s->in[0]) + at * r.src_stride * f->element;
        r.dst = (char *)takt_view_data(t, &s->out[0]) + at * r.n * f->element;
        f->run(&r);
    }
}

static takt_status add_vector(takt_planner *p, const takt_node *n, uint32_t k, int *index)
{
    size_t view;
    *index = -1;
    if (k >= n->in_count || n->in[k] == TAKT_NONE)
        return TAKT_OK;
    TAKT_TRY(takt_planner_input(p, n->in[k], &view));
    *index = (int)view;
    return TAKT_OK;
}

/* The rows of `n`, whose result has `count` elements. */
static takt_rows_step shape_of(const takt_node *n, size_t count)
{
    const takt_type *t = n->type;
    takt_rows_step r = {.op = op_of(n), .n = (size_t)t->dim[t->rank - 1]};
    if (has_planes(n)) {
        const takt_attr *groups = takt_node_attr(n, "groups");
        r.channels = (size_t)t->dim[1];
        r.plane = 1;
        for (int i = 2; i < t->rank; i++)
            r.plane *= (size_t)t->dim[i];
        r.n = r.plane * (groups != NULL ? r.channels / (size_t)groups->i64 : 1);
    }
    r.rows = r.n > 0 ? count / r.n : 0;
    r.src_stride = r.dst_stride = r.n;
    return r;
}

static takt_status compile(takt_planner *p)
{
    enum { ROW = 3000, EXP = 60, NORM = 30 }; /* operations for a row, and for an element */
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    facts *f = takt_planner_get(p, sizeof *f);
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    size_t index, count;
    TAKT_TRY(takt_planner_input(p, n->in[0], &index));
    TAKT_TRY(add_vector(p, n, 1, &f->gamma));
    TAKT_TRY(add_vector(p, n, 2, &f->beta));
    TAKT_TRY(takt_planner_output_over(p, id, 0, &index));
    (void)takt_type_count(n->type, &count);
    const takt_attr *epsilon = takt_node_attr(n, "epsilon");
    f->rows = shape_of(n, count);
    f->rows.epsilon = epsilon != NULL ? epsilon->f64 : 0;
    f->element = n->type->dtype == TAKT_F32 ? 4 : 8;
    const char *family = n->type->dtype == TAKT_F32 ? "rows_f32" : "rows_f64";
    f->run = (takt_rows_fn *)takt_planner_kernel(p, family)->run;
    p->step->run = run;
    p->step->reads_view = reads_view;
    p->step->data = f;
    const bool has_exp = f->rows.op == TAKT_ROWS_SOFTMAX || f->rows.op == TAKT_ROWS_LOG_SOFTMAX;
    const double each = has_exp ? EXP : NORM;
    p->step->task_count = takt_cpu_tasks(p, each * (double)count + ROW * (double)f->rows.rows,
                                         8.0 * (double)count, f->rows.rows);
    return TAKT_OK;
}

const takt_cpu_kind takt_cpu_rows = {.is_steady = true,
                                     .name = "rows",
                                     .family = TAKT_FAMILY_ROWS,
                                     .accepts = accepts,
                                     .keeps = keeps,
                                     .compile = compile};
