/* goal.h - evaluates the cases of a property over a region. */
#ifndef TAKT_VERIFY_GOAL_H
#define TAKT_VERIFY_GOAL_H

#include "verify/property.h"
#include "verify/region.h"

/* The goal of one case over one region. */
typedef struct takt_goal {
    double bound; /* the best row's least value, less its own bound: above 0 the case has no point
                   */
    size_t row;   /* the best one */
    bool is_proved;
} takt_goal;

/* Cases of a property, by their numbers. */
typedef struct takt_case_list {
    const uint32_t *at;
    size_t count;
} takt_case_list;

/* Rows of a case as rows of the net's output, from row `at` on; call takt_region_clear first. */
void takt_goal_rows(takt_region *r, const takt_case *c, size_t at);
/* Bounds of the cases in `open`, over a region whose nodes are bounded. `scores`, one per input
 * element and zeroed by the caller, or NULL, are increased by each element's contribution to the
 * bounds of unproved cases; `losses`, one per node or NULL, by the loss of its lines. */
void takt_goal_bound(takt_region *r, const takt_property *p, takt_case_list open, takt_goal *goals,
                     double *scores, double *losses);
/* The input element whose split promises most: the one with the greatest share in the bound; if the
 * bound misses 0 by much more than the coefficients explain, the one that is widest relative to the
 * whole box. */
uint32_t takt_goal_split(const double *lo, const double *hi, const double *scores, size_t count,
                         const takt_case *box, double missing);
/* Bounds of all outputs over a region whose nodes are bounded, by lines if `refines`. */
void takt_goal_outputs(takt_region *r, bool refines, double *lower, double *upper);
/* The label of the node whose lines lose most over the box of the cases; NULL if none does.
 * `is_bounded`: the region has the bounds of that box. */
const char *takt_goal_blame(takt_region *r, const takt_property *p, takt_case_list cases,
                            bool is_bounded);
/* Whether outputs y at x break the case. */
bool takt_goal_breaks(const takt_case *c, const double *x, const double *y);
/* How far the worst half-space is from that; at most 0 where the case is broken. */
double takt_goal_margin(const takt_case *c, const double *x, const double *y);

#endif
