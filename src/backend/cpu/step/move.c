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
    takt_strided_copy(&f->walk, from + f->start * (int64_t)f->walk.bytes,
                      to + first * f->walk.bytes, first, end);
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
    f->start = takt_strided_source(n, &p->step->in[0], stride);
    const size_t bytes = (size_t)takt_dtype_bits(n->type->dtype) / 8;
    f->walk = takt_strided_of(n->type->dim, stride, n->type->rank, bytes);
    p->step->run = run;
    p->step->data = f;
    p->step->task_count =
        takt_cpu_tasks(p, 0, 4.0 * (double)(f->walk.count * bytes), (f->walk.count + 63) / 64);
    return TAKT_OK;
}

const takt_cpu_kind takt_cpu_move = {.name = "move", .accepts = accepts, .compile = compile};
