/* magnitude.h - how large the values of a node of constants are, for rules that scale weights. */
#ifndef TAKT_PASS_MAGNITUDE_H
#define TAKT_PASS_MAGNITUDE_H

#include "ir/graph.h"

/* Bounds; an infinity or NaN among the values makes `most` an infinity. */
typedef struct takt_magnitude {
    double low;   /* no value is less */
    double least; /* no |value| but 0 is less; infinity: all are 0 */
    double most;  /* no |value| is greater */
    bool is_known;
} takt_magnitude;

/* The magnitude of constants, and of sums, products, negations, casts, moves and paddings of
 * constants. */
takt_magnitude takt_magnitude_of(const takt_graph *g, takt_id id);
/* a * b, and a / sqrt(b + epsilon) of a variance b, element by element. */
takt_magnitude takt_magnitude_mul(takt_magnitude a, takt_magnitude b);
takt_magnitude takt_magnitude_over_root(takt_magnitude a, takt_magnitude b, double epsilon);
/* Values of `dtype` (f32 or f64) that lie within `m` are finite, and where they are subnormal the
 * loss is below the rounding of the largest of them, which is at least `peak`. */
bool takt_magnitude_fits(takt_magnitude m, double peak, takt_dtype dtype);

#endif
