/* move.c - transposes and slices: the same elements in another order. */
#include "backend/cpu/cpu.h"
#include "backend/cpu/strided.h"

typedef struct facts {
    takt_strided walk;
    int64_t start; /* of the pattern, in elements from the input's first */
} facts;

static const char *accepts(const takt_graph *g, takt_id node)
{
    const takt_op *op = g->nodes[node].op;
    if (op != &takt_op_transpose && op != &takt_op_slice)
        return "";
    return takt_dtype_bits(takt_type_of(g, node)->dtype) >= 8 ? NULL : "elements below a byte";
}

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    size_t first, end;
    takt_cpu_share(f->walk.count, 64, t->index, s->task_count, &first, &end);
    const char *from = takt_view_data(t, &s->in[0]);
    char *to = takt_view_data(t, &s->out[0]);
    takt_strided_copy(&f->walk, from + f->start * (int64_t)f->walk.bytes, to + first * f->walk.bytes,
                      first, end);
}

static void transpose(const takt_node *n, const takt_view *x, int64_t *stride)
{
    const takt_attr *perm = &n->attr[takt_op_attr_index(n->op, "perm", 4)];
    for (int d = 0; d < x->rank; d++)
        stride[d] = x->stride[perm->i64s[d]];
}

static int64_t clamp(int64_t v, int64_t low, int64_t high)
{
    return v < low ? low : v > high ? high : v;
}

/* Python's rule: negative numbers count from the end, those beyond it are cut. */
static int64_t slice(const takt_node *n, const takt_view *x, int64_t *stride)
{
    const takt_attr *axes = &n->attr[takt_op_attr_index(n->op, "axes", 4)];
    const takt_attr *start = &n->attr[takt_op_attr_index(n->op, "start", 5)];
    const takt_attr *step = &n->attr[takt_op_attr_index(n->op, "step", 4)];
    int64_t at = 0;
    for (int d = 0; d < x->rank; d++)
        stride[d] = x->stride[d];
    for (uint32_t i = 0; i < start->count; i++) {
        int64_t d = axes->count == 0 ? (int64_t)i : axes->i64s[i];
        d += d < 0 ? x->rank : 0;
        const int64_t size = x->dim[d], by = step->count == 0 ? 1 : step->i64s[i];
        const int64_t from = start->i64s[i] < 0 ? start->i64s[i] + size : start->i64s[i];
        at += clamp(from, by > 0 ? 0 : -1, by > 0 ? size : size - 1) * x->stride[d];
        stride[d] = x->stride[d] * by;
    }
    return at;
}

static takt_status compile(takt_planner *p)
{
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    facts *f = takt_planner_get(p, sizeof *f);
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    size_t index;
    TAKT_TRY(takt_planner_input(p, n->in[0], &index));
    TAKT_TRY(takt_planner_output(p, id, &index));
    int64_t stride[TAKT_MAX_RANK];
    if (n->op == &takt_op_transpose)
        transpose(n, &p->step->in[0], stride);
    else
        f->start = slice(n, &p->step->in[0], stride);
    const size_t bytes = (size_t)takt_dtype_bits(n->type->dtype) / 8;
    f->walk = takt_strided_of(n->type->dim, stride, n->type->rank, bytes);
    p->step->run = run;
    p->step->data = f;
    p->step->task_count = takt_cpu_tasks(p, 0, 4.0 * (double)(f->walk.count * bytes),
                                         (f->walk.count + 63) / 64);
    return TAKT_OK;
}

const takt_cpu_kind takt_cpu_move = {.name = "move", .accepts = accepts, .compile = compile};
