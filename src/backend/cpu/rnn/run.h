/* run.h - a recurrent cell over a whole sequence: what is known when the plan is made.
 *
 * Units are cut into blocks. An iteration of a block is one product of the state with the columns
 * of R that belong to the block, all gates side by side, and the cell's arithmetic on the result
 * while it is hot. Threads share the rows of the batch, which have nothing to do with each other,
 * or the blocks, and then wait for each other after every iteration (crew.h).
 */
#ifndef TAKT_BACKEND_CPU_RNN_RUN_H
#define TAKT_BACKEND_CPU_RNN_RUN_H

#include "backend/cpu/crew.h"
#include "backend/cpu/rnn/match.h"
#include "kernel/affine_f32/affine_f32.h"
#include "kernel/convert/convert.h"
#include "kernel/gemm_f64/gemm_f64.h"
#include "kernel/gemm_i8/gemm_i8.h"
#include "kernel/pack/pack.h"
#include "kernel/reduce/reduce.h"

enum { TAKT_RNN_ROWS = 48 }; /* of a product: whole tiles of 6, 8, 12 and 16 rows */

/* One product of an iteration: `count` of the kernel's gates from `first` on, except those left
 * out. */
typedef struct takt_rnn_product {
    int gates[TAKT_RNN_GATES];
    size_t count;
    size_t at;    /* elements into the packed matrices */
    size_t block; /* elements of a packed block */
} takt_rnn_product;

/* Of weights that are bytes (bytes.h). */
typedef struct takt_rnn_bytes {
    takt_gemm_i8_fn *gemm;
    const takt_gemm_i8_info *info;
    takt_reduce_fn *reduce;
    takt_affine_f32_fn *quantise;
    size_t deep;                             /* rows of packed panels */
    bool is_unsigned;                        /* r */
    bool has_scales;                         /* one for each column */
    size_t weights_at, scales_at, zeros_at;  /* bytes into the shared scratch */
    size_t levels_at, state_at, products_at; /* bytes into a worker's scratch */
} takt_rnn_bytes;

typedef struct takt_rnn_facts {
    takt_rnn_match m;
    takt_rnn_form form[2]; /* of the one or two halves of an iteration */
    takt_rnn_product product[2];
    size_t halves;
    takt_dtype dtype, compute, given; /* given: x, in 16 bits where the step converts it itself */
    size_t size, wide;                /* bytes of an element, stored and computed */
    size_t packed_size;               /* of packed R */
    takt_rnn_fn *cell;
    takt_gemm_f32_fn *gemm_f32;
    takt_gemm_f64_fn *gemm_f64;
    takt_pack_fn *pack;
    takt_convert_fn *convert;
    takt_panels panels;
    takt_rnn_bytes bytes;
    takt_ctx *ctx; /* for packing at plan time */
    size_t length, block, blocks;
    takt_rnn_lane x, y, live, start[TAKT_RNN_STARTS], keep[TAKT_RNN_KEEPS];
    bool reverse;
    bool is_packed; /* R, when the plan is made: step->in[packed] */
    size_t packed, packed_count;
    size_t parts; /* of the blocks; 1: tasks share rows */
    /* Bytes into the shared scratch. */
    size_t crew_at, packed_at, ordered_at, state_at[2], cell_at, update_at, reset_at, bias_at,
        peephole_at;
    /* Bytes into a worker's scratch, behind what the product's kernel needs. */
    size_t result_at, x_at, y_at, keep_at;
} takt_rnn_facts;

/* Elements are computed in a different type than they are stored in. */
static inline bool takt_rnn_widens(const takt_rnn_facts *f)
{
    return f->dtype != f->compute;
}

/* The inputs of the gates are widened in a task's own memory. */
static inline bool takt_rnn_widens_x(const takt_rnn_facts *f)
{
    return f->given != f->compute;
}

/* Whether products read the state in place. */
static inline bool takt_rnn_reads_state(const takt_rnn_facts *f)
{
    return !takt_gemm_collides(f->m.units * f->wide, f->m.units * f->wide);
}

/* The maximum number of rows of a product. */
static inline size_t takt_rnn_rows(const takt_rnn_facts *f)
{
    return f->m.batch < TAKT_RNN_ROWS ? f->m.batch : TAKT_RNN_ROWS;
}

static inline void takt_rnn_widen(const takt_rnn_facts *f, void *to, const void *from, size_t count)
{
    const takt_convert how = {.to = f->compute, .from = f->dtype};
    f->convert(&how, to, from, count);
}

static inline void takt_rnn_narrow(const takt_rnn_facts *f, void *to, const void *from,
                                   size_t count)
{
    const takt_convert how = {.to = f->dtype, .from = f->compute};
    f->convert(&how, to, from, count);
}

takt_step_run_fn takt_rnn_before, takt_rnn_run, takt_rnn_after;
/* Packs R, in its layout in the graph, for the products; `ordered` has room for its elements,
 * widened.
 */
void takt_rnn_pack(const takt_rnn_facts *f, const void *r, void *ordered, void *to);

#endif
