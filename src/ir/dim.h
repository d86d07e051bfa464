/* dim.h - dimensions: numbers, names, and canonical expressions of them.
 *
 * A dimension is one 64-bit handle. Numbers stand for themselves; everything else is an entry in a
 * table shared by all graphs derived from one another, so handles survive passes. Expressions are
 * kept in a normal form (a sum of coefficients times products), so equal handles mean equal
 * dimensions and `(n + 1) - 1` is `n`.
 *
 * Names unify: adding [batch, 4] to [n, 4] makes `n` an alias of `batch`. An equation that holds
 * for no size is an error that names both sides. One that holds for some sizes and cannot be proven
 * or refuted, such as 2*ceildiv(h, 2) = h, is noted as an *assumption* and checked when sizes are
 * known: a graph with numbers is inferred again. */
#ifndef TAKT_IR_DIM_H
#define TAKT_IR_DIM_H

#include <stdbool.h>

#include "base/inner.h"
#include "base/text.h"

typedef int64_t takt_dim;
typedef struct takt_dims takt_dims;

typedef enum takt_dim_op {
    TAKT_DIM_ADD,
    TAKT_DIM_SUB,
    TAKT_DIM_MUL,
    TAKT_DIM_FLOORDIV,
    TAKT_DIM_CEILDIV,
    TAKT_DIM_MOD,
    TAKT_DIM_MIN,
    TAKT_DIM_MAX,
} takt_dim_op;

TAKT_MUST_USE takt_status takt_dims_create(takt_ctx *ctx, takt_dims **dims);
void takt_dims_retain(takt_dims *dims);
void takt_dims_release(takt_dims *dims); /* accepts NULL */

static inline bool takt_dim_is_number(takt_dim d)
{
    return d >= 0;
}

/* The dimension called `name`, created if new. */
TAKT_MUST_USE takt_status takt_dim_name(takt_dims *dims, takt_span name, takt_dim *out);
/* A new name derived from `base`. */
TAKT_MUST_USE takt_status takt_dim_fresh(takt_dims *dims, const char *base, takt_dim *out);
/* The dimension of a name that a file gives without proof. Equations are solved for such names
 * first. */
TAKT_MUST_USE takt_status takt_dim_hint(takt_dims *dims, takt_span name, takt_dim *out);
/* `a op b` in normal form. Fails on a negative or overflowing number, division by zero. */
TAKT_MUST_USE takt_status takt_dim_make(takt_dims *dims, takt_dim_op op, takt_dim a, takt_dim b,
                                        takt_dim *out);
/* Known to be equal, including bindings by unification. False if out of memory: a caller that
 * refuses because of it calls takt_dims_blame. */
TAKT_INNER bool takt_dim_same(takt_dims *dims, takt_dim a, takt_dim b);
/* `status`, or TAKT_ERR_MEMORY if memory ran out in takt_dim_same or takt_dim_unify since the last
 * call. */
TAKT_MUST_USE takt_status takt_dims_blame(takt_dims *dims, takt_status status);
/* Makes them equal, assumes it, or fails with both sides in the message. */
TAKT_MUST_USE takt_status takt_dim_unify(takt_dims *dims, takt_dim a, takt_dim b);
/* From now on existing names are not bound; returns the previous limit. A branch that may not run
 * must not bind names outside it. */
size_t takt_dims_hold(takt_dims *dims);
void takt_dims_let_go(takt_dims *dims, size_t held);
/* Two dimensions assumed to be equal without proof. */
typedef struct takt_assumption {
    takt_dim left, right;
} takt_assumption;
TAKT_INNER size_t takt_dims_assumed(const takt_dims *dims);
TAKT_INNER takt_assumption takt_dims_assumption(const takt_dims *dims, size_t index);
/* `d` with all bindings of unification substituted. */
TAKT_MUST_USE takt_status takt_dim_resolve(takt_dims *dims, takt_dim d, takt_dim *out);
/* The names in the table, in order of first use. */
TAKT_INNER size_t takt_dims_name_count(const takt_dims *dims);
TAKT_INNER const char *takt_dims_name(const takt_dims *dims, size_t index);
/* Whether `d`, resolved, is just a name, and which one. */
bool takt_dim_is_name(takt_dims *dims, takt_dim d, size_t *index);
/* The number of names that unification has bound; it grows with every new one. */
size_t takt_dims_bound(const takt_dims *dims);
/* `d` with names replaced by sizes[index] (entries < 0 stay names). */
TAKT_INNER TAKT_MUST_USE takt_status takt_dim_substitute(takt_dims *dims, takt_dim d,
                                                         const int64_t *sizes, size_t size_count,
                                                         takt_dim *out);
/* "batch", "2*seq + 1", with bindings of unification substituted. */
TAKT_INNER void takt_dim_print(takt_dims *dims, takt_dim d, takt_text *text);

#endif
