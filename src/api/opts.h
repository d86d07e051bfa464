/* opts.h - from the caller's options to the settings that a plan is built with. */
#ifndef TAKT_API_OPTS_H
#define TAKT_API_OPTS_H

#include <takt/plan.h>

#include "api/model.h"
#include "base/inner.h"
#include "pass/pass.h"
#include "plan/plan.h"

/* Checks the options and turns them into settings; names of things that this machine or build
 * does not have are errors with a hint. */
TAKT_INNER TAKT_MUST_USE takt_status takt_plan_settle(const takt_model *m,
                                                      const takt_plan_options *o,
                                                      takt_plan_settings *settings);
/* The sizes that the options give, by index of the model's names, 1 where they give none. */
TAKT_MUST_USE takt_status takt_plan_ranges(const takt_model *m, const takt_plan_options *o,
                                           takt_arena *arena, takt_size_range **ranges,
                                           size_t *count);
/* The purpose of a graph. */
typedef struct takt_plan_request {
    const takt_model *model;
    const takt_plan_options *options;
    const takt_plan_settings *settings;
    takt_pass_report *report; /* of what passes did; NULL: no report */
} takt_plan_request;

/* The graph that such a plan computes, for given sizes; entries below 0 stay names. */
TAKT_MUST_USE takt_status takt_plan_stages(const takt_plan_request *r, const int64_t *sizes,
                                           size_t count, takt_graph **g);
/* The same for the sizes of the options, derived from a plan for other sizes where possible: then
 * `*basis` is that plan, retained, else NULL. With a report all passes run. */
TAKT_INNER TAKT_MUST_USE takt_status takt_plan_graph(const takt_plan_request *r, takt_graph **g,
                                                     takt_basis **basis);
/* "0.7", or NULL. */
TAKT_MUST_USE takt_status takt_settle_tradeoff(takt_ctx *ctx, const char *word,
                                               takt_plan_settings *s);
/* The part of it about blocking (order of memory access). */
/* "cuda=2G". */
TAKT_MUST_USE takt_status takt_settle_limits(takt_ctx *ctx, const char *words,
                                             takt_plan_settings *s);
TAKT_MUST_USE takt_status takt_settle_blocking(takt_ctx *ctx, const takt_cache_config *c,
                                               takt_plan_settings *settings);
/* "f32" (also NULL), "f16" or "bf16". */
TAKT_MUST_USE takt_status takt_precision_of(takt_ctx *ctx, const char *word, takt_dtype *precision);

/* "on" (also NULL) or "off". */
TAKT_MUST_USE takt_status takt_checks_of(takt_ctx *ctx, const char *word, bool *on);

#endif
