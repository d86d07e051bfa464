/* point.c - size points: steps whose results determine the sizes of later steps. */
#include "plan/execute.h"

bool takt_point_holds(const takt_plan *plan, const takt_step *step, const int64_t *found)
{
    const takt_attr *names = &plan->graph->nodes[step->nodes[0]].attr[0];
    for (uint32_t i = 0; i < names->count; i++)
        if (names->dims[i] != found[i])
            return false;
    return true;
}

takt_status takt_point_pass(const takt_execution *x, size_t step)
{
    const takt_step *s = &x->plan->steps[step];
    if (takt_point_holds(x->plan, s, takt_point_found(s, x->base)))
        return TAKT_OK;
    if (x->point != NULL)
        return x->point(x->point_user, step);
    takt_error_set(x->error, TAKT_E_LENGTH_DIFFERS,
                   "%s: a size that values decide changes inside a branch or a loop", s->name);
    return takt_error_node(x->error, s->name);
}
