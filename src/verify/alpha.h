/* alpha.h - slopes of lines that touch a hinge, chosen for each row by gradient steps. Lines of
 * smooth functions are in tangents.h.
 *
 * Below a relu that is neither on nor off, every line through 0 with a slope from 0 to 1 is a valid
 * bound. Which is best depends on the row. A row's bound is the value of a linear net, functions
 * replaced by lines, at one corner of the box; so its derivative by a slope is the coefficient of
 * the function's result times the value of its input in that linear net (arXiv 2011.13824). */
#ifndef TAKT_VERIFY_ALPHA_H
#define TAKT_VERIFY_ALPHA_H

#include "verify/region.h"

struct takt_tangents;

/* A relu that is split: its input z is at most 0 (`sign` 1) or at least 0 (-1), so that adding
 * sign * beta * z, with beta >= 0, to a row never raises it (arXiv 2103.06624). */
typedef struct takt_side {
    uint32_t relu, element;
    double sign;
} takt_side;

enum { TAKT_ALPHA_SIDES = 199, TAKT_ALPHA_GRID = 4095 };

typedef struct takt_alpha {
    int steps;
    bool (*is_late)(const void *user); /* ends the steps */
    const void *user;
    double rate;
    double **slope; /* per node, [rows][count]; NULL: its usual lines */
    double **first; /* moments of the gradient */
    double **second;
    double **value;                  /* per node, [rows][count]: of the linear net */
    struct takt_tangents **tangents; /* per node: of smooth functions (tangents.h); or NULL */
    double *best;                    /* per row */
    double *seeds;                   /* initial values of the rows of inputs */
    /* With relus that are split: */
    double *const *warm;     /* per node: initial slopes; NULL: those of the lines */
    const double *warm_beta; /* one per side; NULL: 0 */
    const takt_side *sides;
    size_t side_count;
    size_t fixed; /* the side whose multiplier stays; SIZE_MAX: none */
    double *beta, *beta_first, *beta_second, *beta_rate; /* [rows][TAKT_ALPHA_SIDES] */
    double *enough;                                      /* per row: a sufficient bound */
    bool stops;                                          /* stop as soon as one row reaches it */
} takt_alpha;

/* Whether a node is a relu or a leaky relu: two lines that meet at 0. */
bool takt_alpha_is_hinge(const takt_net_node *n);
/* Its slope below 0; that of a leaky relu may be negative. */
double takt_alpha_left(const takt_net_node *n);

/* In the region's arena. */
TAKT_MUST_USE takt_status takt_alpha_init(takt_region *r, int steps);
/* As takt_region_back, several times with better slopes; best[row] is the greatest lower bound.
 * Slopes are multiples of 1 / TAKT_ALPHA_GRID, so that a certificate can name them. */
void takt_region_best(takt_region *r, size_t id, size_t count, double *best);

#endif
