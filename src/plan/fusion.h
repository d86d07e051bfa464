/* fusion.h - what fusing a node into the step before it saves. */
#ifndef TAKT_PLAN_FUSION_H
#define TAKT_PLAN_FUSION_H

#include "plan/builder.h"

/* Microseconds that a step of this cost takes. */
double takt_machine_us(const takt_machine *m, const takt_cost *c);
/* `step`: the cost of the step so far. */
takt_fusion takt_fusion_estimate(const takt_builder *b, takt_id node, takt_id from,
                                 const takt_cost *step);
/* The same where the node already belongs to `step`, and `from` is the result of step `other`. */
takt_fusion takt_fusion_between(const takt_builder *b, takt_id node, takt_id from,
                                const takt_cost *step, const takt_cost *other);
/* The step's cost with the node in it. */
void takt_fusion_join(const takt_builder *b, const takt_fusion *fusion, takt_cost *step);
/* For `takt explain --fusions`. */
void takt_fusion_note(takt_builder *b, const takt_fusion *fusion);

#endif
