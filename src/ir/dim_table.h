/* dim_table.h - inside the table of dimensions: entries, and the normal form as a working value.
 *
 * An entry is a name, an operation that stays opaque (floordiv, mod, min, max), or a sum of terms.
 * Names and operations are *atoms*; a term is a coefficient times a product of atoms. A sum that is
 * a plain number or a single atom is never an entry of its own, except negative numbers: those
 * occur only inside expressions and are refused as results.
 *
 * Entries are made once and never change, but for the binding of a name. Entries refer to older
 * ones only; bindings may refer to newer ones but never make a cycle.
 */
#ifndef TAKT_IR_DIM_TABLE_H
#define TAKT_IR_DIM_TABLE_H

#include <stdatomic.h>

#include "base/arena.h"
#include "base/lock.h"
#include "ir/dim.h"

/* The size that an expression may have before it is refused. */
enum { DIM_TERMS = 96, DIM_ATOMS = 7, DIM_TEXT = 2048 };

typedef struct dim_term {
    int64_t factor;
    uint32_t count;
    uint32_t atom[DIM_ATOMS]; /* entries, ascending; twice for a square */
} dim_term;

/* A sum in order: products by their atoms, the constant last; no zero factors. */
typedef struct dim_sum {
    uint32_t count;
    dim_term term[DIM_TERMS];
} dim_sum;

typedef enum dim_kind { DIM_NAME, DIM_OP, DIM_SUM } dim_kind;

typedef struct dim_entry {
    dim_kind kind;
    takt_dim_op op;   /* of an OP */
    takt_dim a, b;    /* its operands */
    const char *name; /* of a NAME; its length is `count` */
    size_t index;     /* among the names */
    takt_dim like;    /* a NAME whose size is the default; 0: none */
    bool is_hint;     /* a NAME that is bound in preference to others: a label from a file, not a
                       * fact */
    bool is_bound;    /* a NAME that unification found to be `binding` */
    takt_dim binding;
    const dim_term *term; /* of a SUM */
    uint32_t count;       /* terms of a SUM */
    uint64_t hash;
    const char *text; /* as printed */
    takt_dim known;   /* the resolved form, if `stamp` is the table's */
    uint64_t stamp, seen;
} dim_entry;

struct takt_dims {
    takt_ctx *ctx;
    atomic_uint references;
    takt_lock lock; /* held for the short time of one call: graphs in several threads share us */
    takt_arena arena;
    dim_entry *entry;
    size_t count, capacity;
    uint32_t *name; /* entries that are names */
    size_t name_count, name_capacity;
    uint32_t *slot; /* hash table of entries + 1; 0 is empty */
    size_t slot_count;
    uint32_t *stack; /* of work that would otherwise recurse */
    size_t stack_capacity;
    size_t bound_count;
    size_t held; /* number of leading names that must not be bound now */
    takt_assumption *assumed;
    size_t assumed_count, assumed_capacity;
    uint64_t stamp;
    uint64_t counted;     /* in the count of memory of this tick (held.h) */
    atomic_bool is_short; /* memory ran out while comparing or unifying two */
    dim_sum a, b, c, d;   /* too large for the stack */
};

static inline takt_dim dim_of(uint32_t entry)
{
    return -1 - (takt_dim)entry;
}
static inline uint32_t dim_entry_of(takt_dim d)
{
    return (uint32_t)(-1 - d);
}

/* "2*n + 1" as the entry has it; "?" for a number or a handle of another table. */
const char *takt_dim_text(const takt_dims *dims, takt_dim d);

/* ---- sums (dim_sum.c); false when they grow beyond the limits ---- */

void takt_dim_sum_set(dim_sum *s, int64_t number);
bool takt_dim_sum_add(dim_sum *to, const dim_sum *s, int64_t factor);
bool takt_dim_sum_add_term(dim_sum *to, const dim_term *term);
bool takt_dim_sum_mul(const dim_sum *a, const dim_sum *b, dim_sum *out);
/* A plain number, perhaps negative. */
bool takt_dim_sum_number(const dim_sum *s, int64_t *number);
/* The exact quotient by a single term, if there is one. */
bool takt_dim_sum_divide(const dim_sum *s, const dim_term *by, dim_sum *out);

/* ---- entries (dim_table.c) ---- */

void takt_dim_load(const takt_dims *dims, takt_dim d, dim_sum *out);
/* The handle of a sum; negative numbers are allowed here. */
takt_status takt_dim_store(takt_dims *dims, const dim_sum *s, takt_dim *out);
takt_status takt_dim_opaque(takt_dims *dims, takt_dim_op op, takt_dim a, takt_dim b, takt_dim *out);
takt_status takt_dim_find_name(takt_dims *dims, takt_span name, takt_dim *out);
takt_status takt_dim_too_large(takt_dims *dims);
bool takt_dim_is_valid(const takt_dims *dims, takt_dim d);
/* A copy of the entry of a dimension that is not a number, taken under the lock. */
dim_entry takt_dim_entry(const takt_dims *dims, takt_dim d);

/* ---- operations (dim_make.c) and bindings (dim_resolve.c), the lock being held ---- */

takt_status takt_dim_apply(takt_dims *dims, takt_dim_op op, takt_dim a, takt_dim b, takt_dim *out);
/* With bindings substituted, and names replaced by sizes unless `sizes` is NULL. */
takt_status takt_dim_expand(takt_dims *dims, takt_dim d, const int64_t *sizes, size_t size_count,
                            takt_dim *out);
/* Whether a - b can be zero for no sizes above zero. Both resolved. */
bool takt_dim_never_same(takt_dims *dims, takt_dim a, takt_dim b);
/* Notes once that a = b has to be checked when sizes are known. Both resolved. */
takt_status takt_dim_assume(takt_dims *dims, takt_dim a, takt_dim b);
/* Binds a name so that a = b; `*done` is false if that is impossible. Both are resolved. */
takt_status takt_dim_solve(takt_dims *dims, takt_dim a, takt_dim b, bool *done);

#endif
