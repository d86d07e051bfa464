/* tangents.h - lines below and above smooth functions, chosen for each row by gradient steps.
 *
 * An op's `relax` gives a valid line for every choice from 0 to 1. Lines of some choices are kept,
 * and what lies between two choices is the mean of their lines, weighted: that is valid as well,
 * and it costs no function of the library for each element of each row. */
#ifndef TAKT_VERIFY_TANGENTS_H
#define TAKT_VERIFY_TANGENTS_H

#include "verify/region.h"

enum { TAKT_TANGENTS = 16 };

/* Tangents of one node; [0] of lines below, [1] of lines above. */
typedef struct takt_tangents {
    double *lines[2];       /* [count][TAKT_TANGENTS + 1][2]: slope and offset */
    double *usual[2];       /* [count]: the choice that is nearest to the usual line */
    double *point[2];       /* [rows][count]: the choice, times TAKT_TANGENTS */
    double *first, *second; /* [rows][count]: moments of the gradient */
    double *slope, *at;     /* [rows][count]: the lines that the rows used */
} takt_tangents;

/* Whether lines of a node are chosen this way. */
bool takt_tangents_fit(const takt_net_node *n);
TAKT_MUST_USE takt_status takt_tangents_init(takt_region *r, size_t id, takt_tangents *t);
/* Lines for the bounds that the node's source has now. */
void takt_tangents_fill(takt_region *r, size_t id);
/* Initialises the choices of `rows` rows from the usual lines. */
void takt_tangents_begin(takt_region *r, size_t id, size_t rows);
/* Takes rows from the node to its source, `to`, and adds to their constants. */
void takt_tangents_back(takt_region *r, size_t id, size_t rows, double *to);
/* Values of one row of the linear net from those of the source. */
void takt_tangents_values(const takt_region *r, size_t id, size_t row, double *v);
/* One step of Adam. */
void takt_tangents_improve(takt_region *r, size_t id, size_t rows, int step);

#endif
