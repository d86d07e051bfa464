/* rows_dx.c - gradients of softmax and norms over the last axis, as one step. */
#include "backend/cpu/cpu.h"
#include "kernel/rows_dx_f32/rows_dx_f32.h"

typedef struct facts {
    takt_rows_dx_f32_fn *run;
    takt_rows_dx_f32 rows; /* without pointers */
    size_t dy;             /* index into step->in; x is the first, gamma the second of three */
} facts;

static takt_rows_dx_op op_of(const takt_node *n)
{
    if (n->op == &takt_op_softmax_dx)
        return TAKT_ROWS_DX_SOFTMAX;
    const bool is_centred = takt_node_int(n, "centred") != 0;
    if (n->op == &takt_op_norm_dx)
        return is_centred ? TAKT_ROWS_DX_LAYER_NORM : TAKT_ROWS_DX_RMS_NORM;
    return is_centred ? TAKT_ROWS_DX_LAYER_PRODUCT : TAKT_ROWS_DX_RMS_PRODUCT;
}

static bool keeps(const takt_graph *g, const takt_node *n)
{
    if (n->op != &takt_op_softmax_dx && n->op != &takt_op_norm_dx && n->op != &takt_op_norm_dgamma)
        return false;
    const takt_type *t = n->type;
    const int64_t axis = takt_node_int(n, "axis");
    if (t->dtype != TAKT_F32 || t->rank == 0 || (axis != -1 && axis != t->rank - 1))
        return false;
    const takt_type *gamma = takt_type_of(g, n->in[1]);
    return n->op != &takt_op_norm_dx || (gamma->rank == 1 && gamma->dim[0] == t->dim[t->rank - 1]);
}

static const char *accepts(const takt_graph *g, takt_id node)
{
    return keeps(g, &g->nodes[node]) ? NULL : "";
}

enum { POLLED = 1 << 17 }; /* elements between two checks of deadline and cancel */

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    takt_rows_dx_f32 r = f->rows;
    size_t first, end;
    takt_cpu_share(r.rows, 1, t->index, s->task_count, &first, &end);
    const size_t most = 1 + POLLED / (r.n + 1);
    const float *x = takt_view_data(t, &s->in[0]), *dy = takt_view_data(t, &s->in[f->dy]);
    float *dx = takt_view_data(t, &s->out[0]);
    r.poll = t->poll;
    r.gamma = f->dy == 2 ? takt_view_data(t, &s->in[1]) : NULL;
    for (size_t i = first; i < end && (i == first || !takt_poll_stops(t->poll)); i += most) {
        r.rows = end - i < most ? end - i : most;
        r.x = x + i * r.n;
        r.dy = dy + i * r.n;
        r.dx = dx + i * r.n;
        f->run(&r);
    }
}

/* The result takes the place of dy, if nothing reads that afterwards. */
static takt_status compile(takt_planner *p)
{
    enum { ROW = 3000, EACH = 40 }; /* operations for a row, and for an element */
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    facts *f = takt_planner_get(p, sizeof *f);
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    size_t index, count;
    TAKT_TRY(takt_planner_inputs(p, n));
    f->dy = n->in_count - 1;
    TAKT_TRY(takt_planner_output_over(p, id, f->dy, &index));
    (void)takt_type_count(n->type, &count);
    const takt_attr *epsilon = takt_node_attr(n, "epsilon");
    const size_t columns = (size_t)n->type->dim[n->type->rank - 1];
    f->rows = (takt_rows_dx_f32){.op = op_of(n),
                                 .rows = columns > 0 ? count / columns : 0,
                                 .n = columns,
                                 .x_stride = columns,
                                 .dy_stride = columns,
                                 .dx_stride = columns,
                                 .epsilon = epsilon != NULL ? epsilon->f64 : 0};
    f->run = takt_kernel_as_rows_dx_f32(takt_planner_kernel(p, "rows_dx_f32"));
    p->step->run = run;
    p->step->data = f;
    p->step->task_count = takt_cpu_tasks(p, EACH * (double)count + ROW * (double)f->rows.rows,
                                         12.0 * (double)count, f->rows.rows);
    return TAKT_OK;
}

const takt_cpu_kind takt_cpu_rows_dx = {.is_steady = true,
                                        .name = "rows_dx",
                                        .family = TAKT_FAMILY_ROWS,
                                        .accepts = accepts,
                                        .keeps = keeps,
                                        .compile = compile};
