/* svd.h - singular values of a matrix of doubles. */
#ifndef TAKT_SHRINK_SVD_H
#define TAKT_SHRINK_SVD_H

#include "base/arena.h"

/* a = u diag(s) v', with s descending; everything row by row, in the arena. */
typedef struct takt_svd {
    int64_t rows, columns, count; /* count: the smaller of both */
    double *s;
    double *u; /* [rows, count] */
    double *v; /* [columns, count] */
} takt_svd;

/* Receives how much of a decomposition is done, from 0 to 1. */
typedef struct takt_svd_watch {
    void (*at)(void *user, double part);
    void *user;
} takt_svd_watch;

/* By rotations of pairs of columns (one-sided Jacobi), which is accurate for small values too.
 * `watch` may be NULL. */
TAKT_MUST_USE takt_status takt_svd_make(takt_arena *arena, const double *a, int64_t rows,
                                        int64_t columns, const takt_svd_watch *watch,
                                        takt_svd *svd);
/* The values alone, in a tenth of the time: from the Gram matrix, so to about 1e-8 of the largest.
 * u and v are NULL. */
TAKT_MUST_USE takt_status takt_svd_values(takt_arena *arena, const double *a, int64_t rows,
                                          int64_t columns, takt_svd *svd);
/* A copy of a matrix whose longer side are the columns, each contiguous, with room for its singular
 * values: sets s and count. NULL: no memory. */
double *takt_svd_columns(takt_arena *arena, const double *a, takt_svd *svd);
/* In lanes, which do not wait for each other. */
double takt_svd_dot(const double *a, const double *b, int64_t n);
/* The least rank whose values hold this fraction of the sum of all squares. */
int64_t takt_svd_rank(const takt_svd *svd, double energy);
/* The norm of the residual at a rank, over the norm of all. */
double takt_svd_error(const takt_svd *svd, int64_t rank);

#endif
