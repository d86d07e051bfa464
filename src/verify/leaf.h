/* leaf.h - the minimum of a sum over a box in which other sums are at most 0.
 *
 * If every relu of a part is on or off, the net is linear there, and its minimum is that of a
 * linear program: a row for each relu that was split. The dual simplex method begins at the best
 * corner of the box, so that its multipliers are valid at any step. Nothing relies on them: they
 * become the multipliers of a bound whose rounding is counted, and are what a certificate keeps. */
#ifndef TAKT_VERIFY_LEAF_H
#define TAKT_VERIFY_LEAF_H

#include "base/arena.h"

typedef struct takt_leaf {
    size_t inputs, rows;         /* in use */
    size_t input_room, row_room; /* at most */
    const double *lo, *hi;       /* of inputs */
    double *cost;                /* [inputs]: minimised */
    double *row;                 /* [rows][inputs]: row . x + constant[row] <= 0 */
    double *constant;
    double need;                       /* of cost . x: stop when reached */
    bool (*is_late)(const void *user); /* called from time to time: true ends the steps; or NULL */
    const void *user;
    double *x;    /* the minimiser; if no point of the box is feasible, some point */
    double *beta; /* one per row, at least 0 */
    /* While it is solved: variables are inputs, then the slack of each row. */
    double *value, *basic, *reduced;
    uint32_t *outside, *inside; /* the variable of each column, and of each row */
} takt_leaf;

TAKT_MUST_USE takt_status takt_leaf_init(takt_arena *arena, size_t inputs, size_t rows,
                                         takt_leaf *leaf);
/* Multipliers and x. Overwrites `row`, `constant` and `cost`. */
void takt_leaf_solve(takt_leaf *leaf);

#endif
