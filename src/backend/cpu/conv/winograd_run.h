/* winograd_run.h - 3x3 convolution by Winograd's F(4x4, 3x3): what is known when the plan is made,
 * and one task.
 *
 * A task takes blocks of tiles small enough for their transformed forms to stay in L2: it
 * transforms the inputs of the block, multiplies them point by point with the transformed weights,
 * and transforms the products back, where the epilogue is applied while they are in registers. With
 * few tiles weights can be transformed by the product: reading four times as much takes longer.
 */
#ifndef TAKT_BACKEND_CPU_CONV_WINOGRAD_RUN_H
#define TAKT_BACKEND_CPU_CONV_WINOGRAD_RUN_H

#include "backend/cpu/conv/end.h"
#include "backend/cpu/conv/shape.h"
#include "backend/cpu/conv/winograd.h"
#include "backend/cpu/cut.h"
#include "backend/cpu/narrow.h"
#include "kernel/winograd_f32/winograd_f32.h"
#include "kernel/winograd_few_f32/winograd_few_f32.h"

typedef struct takt_winograd_conv {
    takt_conv_shape shape;
    takt_conv_end end;
    takt_gemm_f32_fn *multiply;
    bool reads_a;                       /* the product, in place */
    const takt_gemm_blocking *blocking; /* set by the caller, or NULL */
    takt_winograd_f32_fn *transform;
    takt_winograd_few_f32_fn *few; /* the product that transforms weights; or NULL */
    takt_winograd_packing packing;
    takt_panels panels;
    size_t w, weights_at; /* index into step->in; offset in scratch if not packed */
    bool is_packed;
    takt_narrow narrow;   /* how the weights were stored */
    takt_ctx *ctx;        /* for packing at plan time */
    size_t w_count;       /* elements of w */
    size_t across, tiles; /* tiles in a row of the image, and in the whole batch */
    size_t block;         /* tiles of a block */
    takt_cut cut;
    /* Offsets in a worker's scratch; what `few` reads instead of inputs, and its sums. */
    size_t inputs, products, turned, sums, zeros, registers;
    size_t x_at, y_at; /* offsets in scratch of the forms with channels last, for nchw */
} takt_winograd_conv;

/* Floats from one point of a block to the next: an odd number of cache lines, or all 36 would fall
 * into a few sets of the nearest cache. */
size_t takt_winograd_stride(size_t tiles, size_t channels);

/* Floats of the inputs of `tiles` as winograd_few_f32 reads them. */
size_t takt_winograd_turned_floats(size_t channels, size_t tiles);

/* `from` [sample][rows][columns] to `to` [sample][columns][rows]: channels last, or first again. */
void takt_winograd_transpose(const takt_task *t, const float *from, float *to, size_t samples,
                             size_t rows, size_t cols);

/* For a step with that data: puts channels last, transforms a share of the weights where the plan
 * did not, computes one task, and puts channels back first. */
void takt_winograd_before(const takt_step *s, const takt_task *t);
void takt_winograd_prepare(const takt_step *s, const takt_task *t);
void takt_winograd_run(const takt_step *s, const takt_task *t);
void takt_winograd_after(const takt_step *s, const takt_task *t);

#endif
