/* recheck.h - checks a certificate: a second, small program that shares nothing with the first.
 *
 * It reads the graph that runs, the property and the certificate, traverses the trees of splits,
 * checks that the halves of every box cover it and that every case is proved on every leaf, or on a
 * box around it, and bounds those boxes with its own arithmetic: f64, rounding added as it goes. A
 * part where the input z of a relu is on one side of 0 has the bounds of its box, with z restricted
 * to that side; s * beta * z, at most 0 there, may be added to the sum to be shown positive. It
 * supports products with constants, convolutions, sums, moves, pools, relu and sigmoid; models with
 * anything else are refused. */
#ifndef TAKT_VERIFY_RECHECK_H
#define TAKT_VERIFY_RECHECK_H

#include "ir/array.h"
#include "ir/graph.h"
#include "verify/certificate.h"
#include "verify/property.h"

/* x[first + i * step] * w[i * stride] for i < count; w NULL: factor. */
typedef struct takt_run {
    uint32_t node;
    size_t first, step, count, stride;
    const double *w;
    double factor;
} takt_run;

typedef enum takt_check_kind {
    TAKT_CHECK_NONE, /* not needed */
    TAKT_CHECK_KNOWN,
    TAKT_CHECK_INPUT,
    TAKT_CHECK_LINEAR,
    TAKT_CHECK_MAX, /* of a window */
    TAKT_CHECK_RELU,
    TAKT_CHECK_SIGMOID,
} takt_check_kind;

/* A node of the graph. */
typedef struct takt_check_node {
    takt_check_kind kind;
    takt_array known;
    size_t count;
    uint32_t source; /* of a function */
    double *lo, *hi, *error, *row;
    double *low_slope, *low_at, *high_slope, *high_at; /* lines of a function */
    double gamma, share, tiny;
    size_t *from; /* of a maximum: the element whose least value is greatest */
    bool is_read; /* by a function: refinement is useful */
    /* For a sum (recheck_keep.c): runs of all elements, [count][TAKT_CHECK_KEPT], or NULL; weights
     * in the order of its elements, or NULL. */
    const takt_run *kept;
    const double *kept_bias, *transposed;
    const unsigned char *kept_count;
    bool is_straight; /* each element is that of `source` times a factor, plus a constant */
} takt_check_node;

enum { TAKT_CHECK_KEPT = 2 };

typedef struct takt_recheck {
    takt_ctx *ctx;
    const takt_graph *graph;
    const takt_property *property;
    const takt_certificate *certificate;
    bool is_real;
    takt_arena arena;
    takt_check_node *nodes; /* per node of the graph */
    takt_run *runs;         /* room for those of one element */
    const takt_run *found;  /* those of the last takt_recheck_runs */
    size_t run_room;
    double slack; /* rounding of this arithmetic, of the magnitudes */
    double *lo, *hi;
    bool is_fresh; /* the nodes' bounds are for this box */
    size_t input_count, output_count;
    size_t boxes; /* that were bounded */
} takt_recheck;

/* Whether the certificate proves the property. TAKT_E_CERTIFICATE_OTHER if it belongs to another
 * proof; if it does not prove the property, `*is_proved` is false and `why` has the reason. */
TAKT_MUST_USE takt_status takt_recheck_run(const takt_graph *g, const takt_property *p,
                                           const takt_certificate *c, bool *is_proved,
                                           char why[160], size_t *boxes);

/* What identifies a property: SHA-256 over its numbers. */
void takt_property_digest(const takt_property *p, char digest[TAKT_SHA256_TEXT]);

/* ---- parts ---- */

/* The input of a relu is at most 0 (sign 1) or at least 0 (-1) in the current part. */
typedef struct takt_recheck_side {
    uint32_t relu, element;
    double sign;
    double lo, hi; /* its bounds over the box */
} takt_recheck_side;

/* Restricts the inputs of relus to their sides, and takes slopes from the certificate; false if
 * these, or multipliers, do not fit this model. takt_recheck_leave undoes it, in any case. */
bool takt_recheck_enter(takt_recheck *k, takt_recheck_side *sides, size_t count,
                        const takt_cut *cut);
void takt_recheck_leave(takt_recheck *k, takt_recheck_side *sides, size_t count,
                        const takt_cut *cut);
/* Adds the terms of the sides to the nodes' rows. */
void takt_recheck_beta(takt_recheck *k, const takt_recheck_side *sides, const takt_cut *cut);

/* Constants and kinds of all nodes. */
TAKT_MUST_USE takt_status takt_recheck_read(takt_recheck *k);
void takt_recheck_release(takt_recheck *k);
/* Precomputes what takt_recheck_runs would compute in every box. */
TAKT_MUST_USE takt_status takt_recheck_keep(takt_recheck *k);
/* The runs that element j of linear node `id` sums, in k->found, and the addend; for a maximum,
 * those of its window. */
size_t takt_recheck_runs(takt_recheck *k, uint32_t id, size_t j, double *bias);
/* Bounds of all nodes over the box k->lo, k->hi. */
void takt_recheck_bound(takt_recheck *k);
/* Recomputes the lines of element i of a function, after its input's bounds have changed. */
void takt_recheck_lines(takt_recheck *k, takt_check_node *c, size_t i);
/* The least value over the box of the sum whose coefficients are in the nodes' rows, from node `id`
 * down, plus `constant`. Clears the rows. */
double takt_recheck_least(takt_recheck *k, uint32_t id, double constant);

#endif
