/* opts.h - from what a caller asked for to the settings that a plan is built with. */
#ifndef TAKT_API_OPTS_H
#define TAKT_API_OPTS_H

#include <takt/plan.h>

#include "api/model.h"
#include "pass/pass.h"
#include "plan/plan.h"

/* Checks the options and turns them into settings; names of things that this machine or build
 * does not have are errors with a hint. */
TAKT_MUST_USE takt_status takt_plan_settle(const takt_model *m, const takt_plan_options *o,
                                           takt_plan_settings *settings);
/* The graph that a plan with those settings computes. What passes did goes to `report`, which may
 * be NULL. After a failure `*g` is NULL or still the caller's to destroy. */
TAKT_MUST_USE takt_status takt_plan_graph(const takt_model *m, const takt_plan_options *o,
                                          const takt_plan_settings *s, takt_pass_report *report,
                                          takt_graph **g);
/* The part of it about walking through memory. */
TAKT_MUST_USE takt_status takt_settle_walk(takt_ctx *ctx, const takt_cache_config *c,
                                           takt_plan_settings *settings);
/* "f32" (also NULL), "f16" or "bf16". */
TAKT_MUST_USE takt_status takt_precision_of(takt_ctx *ctx, const char *word, takt_dtype *precision);

#endif
