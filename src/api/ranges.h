/* ranges.h - plans for the sizes inside a range: variants of the one that was made for its top. */
#ifndef TAKT_API_RANGES_H
#define TAKT_API_RANGES_H

#include "base/inner.h"
#include "plan/plan.h"

/* The plan of `top` (a plan with ranges) for sizes inside the ranges, by index of names. If it does
 * not exist it is made from the same graph and weights; with `may_make` false that is an error. */
TAKT_INNER TAKT_MUST_USE takt_status takt_plan_at(takt_plan *top, const int64_t *sizes,
                                                  bool may_make, takt_plan **plan);
/* Whether a plan other than the top exists already. */
bool takt_plan_has_at(takt_plan *top, const int64_t *sizes);
struct takt_resizer;
/* A plan that can be resized within the range; NULL with TAKT_OK: not possible. */
TAKT_MUST_USE takt_status takt_plan_resizer(const takt_plan *top, struct takt_resizer **out);
/* Every size is in its range. */
TAKT_MUST_USE takt_status takt_plan_holds(const takt_plan *top, const int64_t *sizes);

#endif
