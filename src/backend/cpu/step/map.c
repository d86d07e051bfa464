/* map.c - the step for element-wise nodes: one pass over memory, tile by tile. */
#include "backend/cpu/map_program.h"

static const char *accepts(const takt_graph *g, takt_id node)
{
    const takt_node *n = &g->nodes[node];
    if ((n->op->traits & TAKT_ELEMENTWISE) == 0 && n->op != &takt_op_broadcast)
        return "";
    return takt_map_accepts(g, node);
}

static void run(const takt_step *step, const takt_task *task)
{
    const takt_map_program *m = step->data;
    size_t first, end;
    takt_cpu_share(m->count, TAKT_MAP_TILE, task->index, step->task_count, &first, &end);
    takt_map_run(m, step, task, task->scratch_own, first, end);
}

/* Any strides are walked; values in narrow types are widened on the way. */
static bool reads_view(const takt_step *s, size_t in, const int64_t *stride)
{
    (void)s;
    (void)in;
    (void)stride;
    return true;
}

static takt_status compile(takt_planner *p)
{
    takt_map_program *m;
    TAKT_TRY(takt_map_compile(p, p->group->nodes, p->group->count, TAKT_NONE, &m));
    takt_step *s = p->step;
    double bytes = 0;
    for (size_t i = 0; i < m->operand_count; i++)
        bytes += (double)m->count * m->operands[i].bytes;
    s->run = run;
    s->reads_view = reads_view;
    s->data = m;
    s->scratch_each = takt_map_scratch(m);
    s->can_fault = m->can_fault;
    s->fault_id = TAKT_E_DIVIDE;
    s->task_count = takt_cpu_tasks(p, (double)m->count * (double)m->code_count * 4, bytes,
                                   (m->count + TAKT_MAP_TILE - 1) / TAKT_MAP_TILE);
    return TAKT_OK;
}

const takt_cpu_kind takt_cpu_map = {
    .name = "map", .family = TAKT_FAMILY_MAP, .accepts = accepts, .compile = compile};
