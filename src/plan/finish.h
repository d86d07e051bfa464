/* finish.h - the last stage of building: outputs, state, sizes, and freeing what is not needed. */
#ifndef TAKT_PLAN_FINISH_H
#define TAKT_PLAN_FINISH_H

#include "base/inner.h"
#include "plan/builder.h"

typedef takt_status takt_push_fn(takt_builder *b, const takt_step *step);

/* Steps that copy values to outputs which no step writes directly, and old state that becomes the
 * next value of another slot. */
TAKT_MUST_USE takt_status takt_finish_outputs(takt_builder *b, takt_push_fn *push);
/* Steps that copy next values to state which no step writes directly. */
TAKT_MUST_USE takt_status takt_finish_state(takt_builder *b, takt_push_fn *push);
/* Runs of steps in one space. */
TAKT_MUST_USE takt_status takt_finish_segments(takt_builder *b);
enum { TAKT_SEGMENT_US = 1000 }; /* segments of a device that take longer are cut between steps */
/* An estimate; 0 on the host. */
TAKT_INNER double takt_segment_us(const takt_plan *plan, const takt_segment *g);
/* Whether a segment was split from the previous one only so that a run can be interrupted there. */
TAKT_INNER bool takt_segment_goes_on(const takt_plan *plan, size_t index);
/* Inputs of steps that can fail on a device live until their segment ends. */
void takt_finish_faults(takt_builder *b);
/* The plan's memory statement; the limit is checked here. */
TAKT_MUST_USE takt_status takt_finish_sizes(takt_builder *b);
/* Frees constants that no step reads, and spare capacity; safe after any failure. */
TAKT_MUST_USE takt_status takt_finish_shrink(takt_builder *b, bool is_built);

/* The name of a node for messages: its name, its origin, or its op. */
TAKT_INNER const char *takt_node_label(const takt_node *n);
void takt_add_cost(const takt_graph *g, takt_id node, takt_cost *cost);
/* Operations and bytes of a step at the plan's sizes: its own figures and those of its nodes. Only
 * reports and estimates need them, so they are not recomputed for other sizes. */
TAKT_INNER takt_cost takt_step_cost(const takt_plan *plan, const takt_step *s);

#endif
