/* scan.h - shared by the files of the gradient of `scan`. */
#ifndef TAKT_GRAD_SCAN_H
#define TAKT_GRAD_SCAN_H

#include "grad/reverse.h"
#include "op/ops.h"

/* A product of the body, x @ w or x @ w + b, whose left side is a carried value or an element of a
 * sequence and whose right side and bias are captures. All steps know x before the backward scan
 * begins, so all values are one product outside of it, and so is the gradient of w. */
typedef struct takt_scan_cut {
    takt_id product, result;   /* nodes of the body; the same one without bias */
    size_t left, weight, bias; /* inputs of the scan; bias SIZE_MAX: none */
    bool transposes;
    int64_t axis;   /* of steps in the sequence of x, and in those of results and gradients */
    takt_id x;      /* that sequence */
    takt_id in, dy; /* in the backward body: the value, and its gradient or TAKT_NONE */
    size_t out;     /* scanned result with the gradient */
} takt_scan_cut;

typedef struct takt_scan_cuts {
    takt_scan_cut *list;
    size_t count;
} takt_scan_cuts;

/* Finds them in the body of scan `n`, without `x`, `in` and `dy`. */
TAKT_MUST_USE takt_status takt_scan_find_cuts(takt_graph *g, const takt_node *n,
                                              takt_scan_cuts *cuts);
/* Capture `input` is read only by cuts. */
bool takt_scan_is_cut(const takt_node *n, const takt_scan_cuts *cuts, size_t input);
/* The sequence of the cut's values. */
takt_id takt_scan_cut_value(takt_graph *g, const takt_node *n, const takt_scan_cut *c);
/* Adds the contributions of the cut's gradients `dy` of all steps to those of the scan's inputs. */
void takt_scan_cut_grad(takt_graph *g, const takt_node *n, const takt_scan_cut *c, takt_id dy,
                        takt_id *dx);

/* The backward scan of `n` while it is built: `body` with its outputs, and the inputs that belong
 * to those of the body: carried ones, sequences with their axes, captures. */
typedef struct takt_scan_backward {
    takt_graph *g;
    const takt_node *n;
    takt_graph *body;
    const takt_id *map; /* nodes of the forward body in `body` */
    size_t copied;      /* nodes of `body` before the first gradient */
    const takt_scan_cuts *cuts;
    takt_id *in; /* with room for eight more */
    int64_t *axes;
    size_t carried, in_count, axis_count;
} takt_scan_backward;

enum { TAKT_SCAN_CAPTURES = 32 }; /* beyond this many nothing is kept */

/* Lets the backward scan read values that the forward scan computed after a cut, if that is enough
 * to drop the cut. */
TAKT_MUST_USE takt_status takt_scan_keep(takt_scan_backward *b);

/* Entry `i` of a scan's list of axes, of sequences whose elements have `rank` axes. */
int64_t takt_scan_axis(const takt_attr *list, size_t i, int rank);

#endif
