/* points.h - a net at many points at once, in f64 and ignoring rounding: candidates for
 * counterexamples. */
#ifndef TAKT_VERIFY_POINTS_H
#define TAKT_VERIFY_POINTS_H

#include "verify/net.h"

enum { TAKT_POINTS = 16 };

typedef struct takt_points {
    const takt_net *net;
    double **values; /* per node, [count][TAKT_POINTS] */
} takt_points;

/* In an arena. */
TAKT_MUST_USE takt_status takt_points_init(takt_points *s, const takt_net *net, takt_arena *arena);
/* Sets element `at` of all inputs of point `point`. */
void takt_points_put(takt_points *s, size_t point, const double *x);
/* Values of all nodes. */
void takt_points_run(takt_points *s);
/* Outputs at one point. */
void takt_points_get(const takt_points *s, size_t point, double *y);

#endif
