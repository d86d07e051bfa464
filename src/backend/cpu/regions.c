/* regions.c - operands and sizes of a step over regions of interest. */
#include "backend/cpu/regions.h"

takt_status takt_regions_plan(takt_planner *p, takt_regions *r)
{
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    size_t index;
    TAKT_TRY(takt_planner_inputs(p, n));
    TAKT_TRY(takt_planner_output(p, id, &index));
    r->roi = takt_roi_of(n, p->step->in[0].dim, p->step->in[1].dim);
    r->bins = (size_t)(r->roi.rows * r->roi.columns);
    r->plane = (size_t)(r->roi.height * r->roi.width);
    p->step->can_fault = true;
    p->step->fault_id = TAKT_E_INDEX;
    return TAKT_OK;
}
