/* alpha.h - slopes of lines that touch a hinge, chosen for each row by gradient steps.
 *
 * Below a relu that is neither on nor off, every line through 0 with a slope from 0 to 1 holds.
 * Which is best depends on the row. A row's bound is the value of a linear net, functions replaced
 * by lines, at one corner of the box; so its derivative by a slope is the coefficient of the
 * function's result times the value of its input in that linear net (arXiv 2011.13824).
 */
#ifndef TAKT_VERIFY_ALPHA_H
#define TAKT_VERIFY_ALPHA_H

#include "verify/region.h"

typedef struct takt_alpha {
    int steps;
    bool (*is_late)(const void *user); /* ends the steps */
    const void *user;
    double rate;
    double **slope; /* per node, [rows][count]; NULL: its lines are as usual */
    double **first; /* moments of the gradient */
    double **second;
    double **value; /* per node, [rows][count]: of the linear net */
    double *best;   /* per row */
    double *seeds;  /* what rows of inputs begin with */
} takt_alpha;

/* In the region's arena. */
TAKT_MUST_USE takt_status takt_alpha_init(takt_region *r, int steps);
/* As takt_region_back, several times with better slopes; best[row] is the greatest lower bound. */
void takt_region_best(takt_region *r, size_t id, size_t count, double *best);

#endif
