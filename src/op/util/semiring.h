/* semiring.h - shared by the products over semirings and their gradient. */
#ifndef TAKT_OP_UTIL_SEMIRING_H
#define TAKT_OP_UTIL_SEMIRING_H

#include "kernel/semiring_f32/semiring_f32.h"
#include "op/ops.h"

/* The first attribute of both ops: an index into takt_semiring_names, which has the entries of
 * takt_semiring and then `or_and`, the product of bits. */
enum { TAKT_SEMIRING, TAKT_SEMIRING_OR_AND = TAKT_SEMIRING_COUNT };
extern const char *const takt_semiring_names[];
#define TAKT_SEMIRING_ATTR(text)                                                                   \
    [TAKT_SEMIRING] = {.name = "semiring",                                                         \
                       .type = TAKT_ATTR_ENUM,                                                     \
                       .is_required = true,                                                        \
                       .names = takt_semiring_names,                                               \
                       .summary = text}

/* Sizes of the last two axes of both sides, and the number of products. */
typedef struct takt_semiring_sizes {
    size_t batch, m, n, k;
} takt_semiring_sizes;

/* Inputs 0 and 1 as matrices over equal leading axes: floats [.., m, k] and [.., k, n], or words
 * of bits [.., m, ceil(k / 64)] and [.., k, n]. */
TAKT_MUST_USE takt_status takt_semiring_infer(takt_infer *in);
/* The sizes of two such types, all known; or of the interpreter's values. */
takt_semiring_sizes takt_semiring_sizes_of(const takt_type *a, const takt_type *b);
takt_semiring_sizes takt_semiring_sizes_in(const takt_eval *e);

/* How an element is computed: as in the contract of kernel/semiring_f32, rounded to f32 after every
 * operation, or in f64 throughout. */
typedef struct takt_semiring_math {
    takt_semiring semiring;
    bool is_f32;
} takt_semiring_math;
takt_semiring_math takt_semiring_math_of(const takt_node *n);

/* One row of the product: a is [k], b [k][n], c [n]. */
void takt_semiring_row(const takt_semiring_math *m, const takt_semiring_sizes *z, const double *a,
                       const double *b, double *c);
/* One row of the gradient with respect to a: da and room are [k], dy [n]. */
typedef struct takt_semiring_grad {
    const double *a, *b, *dy;
    double *da, *room;
} takt_semiring_grad;
void takt_semiring_grad_row(const takt_semiring_math *m, const takt_semiring_sizes *z,
                            const takt_semiring_grad *g);

#endif
