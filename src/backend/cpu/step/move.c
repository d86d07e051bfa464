/* move.c - transposes and slices: the same elements in another order. */
#include <string.h>

#include "backend/cpu/cpu.h"
#include "backend/cpu/strided.h"
#include "plan/execute.h"

typedef struct facts {
    takt_strided walk;
    int64_t start; /* of the pattern, in elements from the input's first */
    const takt_node *node;
} facts;

static const char *accepts(const takt_graph *g, takt_id node)
{
    const takt_op *op = g->nodes[node].op;
    if (op != &takt_op_transpose && op != &takt_op_slice)
        return "";
    return takt_dtype_bits(takt_type_of(g, node)->dtype) >= 8 ? NULL : "elements below a byte";
}

/* The loops over `in`, and where they begin. */
static facts walk_of(const takt_node *n, const takt_view *in)
{
    int64_t stride[TAKT_MAX_RANK];
    facts f = {.node = n, .start = takt_strided_source(n, in, stride)};
    const size_t bytes = (size_t)takt_dtype_bits(n->type->dtype) / 8;
    f.walk = takt_strided_of(n->type->dim, stride, n->type->rank, bytes);
    return f;
}

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const int64_t *stride = takt_view_stride(t, &s->in[0]);
    facts bound;
    if (stride != NULL) {
        takt_view view = s->in[0];
        memcpy(view.stride, stride, sizeof view.stride);
        bound = walk_of(f->node, &view);
        f = &bound;
    }
    const char *from = takt_view_data(t, &s->in[0]);
    /* Parts of the task's part, with a check of deadline and cancel between them. */
    enum { POLLED = 1 << 20 }; /* bytes */
    size_t count = 0;
    (void)takt_type_count(f->node->type, &count);
    const size_t parts = 1 + count / s->task_count * f->walk.bytes / POLLED;
    for (size_t i = 0; i < parts && !takt_poll_stops(t->poll); i++)
        takt_strided_part(&f->walk, from + f->start * (int64_t)f->walk.bytes,
                          takt_view_data(t, &s->out[0]), t->index * parts + i,
                          s->task_count * parts);
}

static bool reads_view(const takt_step *s, size_t in, const int64_t *stride)
{
    (void)s;
    (void)stride;
    return in == 0;
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
    *f = walk_of(n, &p->step->in[0]);
    p->step->run = run;
    p->step->reads_view = reads_view;
    p->step->data = f;
    p->step->task_count = takt_cpu_tasks(p, 0, 4.0 * (double)(f->walk.count * f->walk.bytes),
                                         (f->walk.count + 63) / 64);
    return TAKT_OK;
}

const takt_cpu_kind takt_cpu_move = {.is_steady = true,
                                     .name = "move",
                                     .work = TAKT_WORK_MOVE,
                                     .is_cheap = true,
                                     .accepts = accepts,
                                     .compile = compile};
