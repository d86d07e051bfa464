/* resize.h - a plan that is resized in place.
 *
 * A session whose sizes come from a range has its own: made once for the largest sizes, with every
 * buffer and every block of memory in place, and then recompiled, step by step, for each new size.
 * That allocates nothing and moves nothing; the same holds for plans of subgraphs, which have a
 * resizer each. Steps that need something else at some size (answers.h), or more memory than at the
 * largest, are left to plans made for that size alone. */
#ifndef TAKT_PLAN_RESIZE_H
#define TAKT_PLAN_RESIZE_H

#include "base/inner.h"
#include "plan/basis.h"
#include "plan/plan.h"

typedef struct takt_resizer takt_resizer;

/* NULL with TAKT_OK: the plan has steps that cannot be resized. */
TAKT_MUST_USE takt_status takt_resizer_create(const takt_plan *top, takt_resizer **out);
/* A resizer for a subgraph, which makes its plan; settings have its basis and sizes. */
TAKT_MUST_USE takt_status takt_resizer_of_child(takt_ctx *ctx, const takt_plan_settings *settings,
                                                takt_resizer **out, takt_plan **plan);
void takt_resizer_destroy(takt_resizer *r); /* accepts NULL */
/* Its plan, for the current sizes; retained as long as the resizer lives. */
takt_plan *takt_resizer_plan(const takt_resizer *r);
/* Sizes by index of the names. `*done` false: they need a separate plan, and this one is unusable
 * until it is given sizes that it can have. A failure: no plan can have them; the sizes are
 * unchanged. */
TAKT_MUST_USE takt_status takt_resizer_set(takt_resizer *r, const int64_t *sizes, bool *done);
/* Sets the first `count` sizes; the others are unchanged. */
TAKT_MUST_USE takt_status takt_resizer_set_some(takt_resizer *r, const int64_t *sizes, size_t count,
                                                bool *done);

/* Sets run-time sizes from node `behind` on to their planned values, given the others at the
 * beginning of `cells`, those of the size program; or to 0 where `is_none`, by index of names or
 * NULL, is set. */
TAKT_INNER void takt_plan_clamp(const takt_plan *top, int64_t *cells, const unsigned char *is_none,
                                takt_id behind);
/* Whether a length before node `before` gave `name` another number than `found`; `names` are those
 * of this run. A branch that is not taken has sizes of 0, which may differ from others. */
bool takt_plan_differs(const takt_plan *top, const int64_t *names, size_t name, int64_t found,
                       takt_id before);
/* Whether these sizes have been used before: setting them again compiles nothing. */
bool takt_resizer_has(const takt_resizer *r, const int64_t *sizes);
/* How many steps it has compiled so far. */
uint64_t takt_resizer_compiled(const takt_resizer *r);
/* Its allocated bytes, with its plan. */
struct takt_tally;
void takt_tally_resizer(struct takt_tally *t, const takt_resizer *r);

#endif
