/* flat.c - steps whose tasks are parts of the elements of one result, one after the other. */
#include "backend/cpu/flat.h"

takt_status takt_cpu_flat(takt_planner *p, double operations, size_t *count)
{
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    size_t index;
    TAKT_TRY(takt_planner_inputs(p, n));
    TAKT_TRY(takt_planner_output(p, id, &index));
    (void)takt_type_count(n->type, count);
    p->step->task_count = takt_cpu_tasks(p, operations * (double)*count, 0,
                                         (*count + TAKT_FLAT_GRAIN - 1) / TAKT_FLAT_GRAIN);
    return TAKT_OK;
}
