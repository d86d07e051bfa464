/* fixed.h - inputs that are constants for a plan. */
#ifndef TAKT_API_FIXED_H
#define TAKT_API_FIXED_H

#include <takt/plan.h>

#include "api/model.h"
#include "pass/pass.h"

/* The graph with the static inputs of the options as constants. */
TAKT_MUST_USE takt_status takt_fix_inputs(const takt_model *m, const takt_plan_options *o,
                                          const takt_graph *in, takt_graph **out);
/* Copies them with their values, so that plans of other sizes can be made from the options. */
TAKT_MUST_USE takt_status takt_keep_fixed(takt_arena *arena, takt_plan_options *o);
/* Adds names and values to a digest. */
TAKT_MUST_USE takt_status takt_hash_fixed(takt_ctx *ctx, const takt_plan_options *o,
                                          uint64_t *hash);

#endif
