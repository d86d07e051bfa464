/* sizes.h - dimensions as a program: every expression that a graph mentions, computed for given
 * sizes in one go, without locks or allocation.
 *
 * Cells are 64-bit numbers. The first ones are the table's names, in its order; every instruction
 * makes the next. After a run the cell of an expression holds the result of
 * `takt_dim_substitute`. */
#ifndef TAKT_IR_SIZES_H
#define TAKT_IR_SIZES_H

#include "base/arena.h"
#include "ir/dim.h"

typedef enum takt_size_code {
    TAKT_SIZE_NUMBER, /* a: its lower half, b: its upper half */
    TAKT_SIZE_ADD,
    TAKT_SIZE_MUL,
    TAKT_SIZE_FLOORDIV,
    TAKT_SIZE_MOD,
    TAKT_SIZE_MIN,
    TAKT_SIZE_MAX,
} takt_size_code;

typedef struct takt_size_op {
    takt_size_code code;
    uint32_t a, b; /* cells */
} takt_size_op;

typedef struct takt_sizes {
    takt_ctx *ctx;
    takt_dims *dims;
    takt_size_op *code;
    size_t count, capacity;
    size_t name_count;
    uint32_t *cell_of; /* per entry of the table: its cell + 1, or 0 */
    size_t cell_capacity;
    uint32_t *asked; /* cells in use: sizes, which are not negative */
    size_t asked_count, asked_capacity;
    uint32_t *stack;
    size_t stack_capacity;
} takt_sizes;

/* All names of the table so far; unification must be finished. */
TAKT_MUST_USE takt_status takt_sizes_init(takt_sizes *s, takt_ctx *ctx, takt_dims *dims);
void takt_sizes_deinit(takt_sizes *s);
/* Bytes from the allocator. */
size_t takt_sizes_bytes(const takt_sizes *s);
/* The cell of `dim`, which may be a number; created if new. */
TAKT_MUST_USE takt_status takt_sizes_cell(takt_sizes *s, takt_dim dim, uint32_t *cell);

static inline size_t takt_sizes_cells(const takt_sizes *s)
{
    return s->name_count + s->count;
}

/* Fills in everything computed from the names' cells. Fails if a size would be negative, overflow,
 * or divide by zero. */
TAKT_MUST_USE takt_status takt_sizes_run(const takt_sizes *s, int64_t *cells);

#endif
