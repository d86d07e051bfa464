/* relax.h - linear bounds: a line below and one above an op's result over a box of its inputs.
 *
 *     below_at + sum of below[k] * x[k]  <=  f(x)  <=  above_at + sum of above[k] * x[k]
 *
 * for every x of the box, element by element, f being the exact function. The offsets are rounded
 * outwards, so the lines hold despite rounding. Slopes may be chosen: any `choice` from 0 to 1
 * gives valid lines, and a search looks for the best ones.
 */
#ifndef TAKT_OP_UTIL_RELAX_H
#define TAKT_OP_UTIL_RELAX_H

#include "op/ops.h"

struct takt_relaxing {
    const takt_node *node;
    size_t count; /* elements */
    double ulp;   /* of the kernel's type, for errors not relative to the result; 0: none */
    const double *lo[2], *hi[2]; /* per input: numbers, lo <= hi; [1] is NULL for one input */
    const double *choice[2];     /* of the line below and above; NULL: the default */
    double *below[2], *above[2]; /* slopes per input, to be set */
    double *below_at, *above_at; /* offsets, to be set; infinite: there is no line */
};

/* A function of one number and its derivative, which is monotone between inflection points. */
typedef struct takt_smooth {
    double (*f)(const takt_node *n, double x);
    double (*slope)(const takt_node *n, double x);
    double inflections[4]; /* where f'' changes its sign, rising */
    int inflection_count;
    bool is_convex_first; /* f' rises before the first inflection point */
    double least;         /* f is defined above this; -INFINITY: everywhere */
} takt_smooth;

/* For .relax: chords, tangents, and lines that are tangent on one side and pass through an end. */
void takt_relax_curve(takt_relaxing *r, const takt_smooth *curve);
void takt_relax_curve_at(takt_relaxing *r, const takt_smooth *curve, size_t i);
/* Two half-lines that meet at `at`, `left` and `right` being their slopes: relu, leaky relu, abs.
 */
void takt_relax_hinge(takt_relaxing *r, double at, double value, double left, double right);
/* x clamped between two numbers, which may be infinite. */
void takt_relax_clip(takt_relaxing *r, double least, double greatest);
/* The product of two inputs. */
void takt_relax_mul(takt_relaxing *r);
/* The greater (sign 1) or the lesser (sign -1) of two inputs. */
void takt_relax_max(takt_relaxing *r, double sign);

/* Flat lines for element i. */
void takt_relax_constant(takt_relaxing *r, size_t i, double lo, double hi);

#endif
