/* cuda_place.h - positions of the tiles of products and convolutions, for cuda_tile.inc. */
#ifndef TAKT_KERNEL_GEMM_F32_CUDA_PLACE_H
#define TAKT_KERNEL_GEMM_F32_CUDA_PLACE_H

#include "kernel/cuda/args.h"
#include "kernel/cuda/lang.h"
#include "kernel/cuda/math.inc"

#include "kernel/cuda/epilogue.inc"

enum { CHUNK = TAKT_CUDA_GEMM_CHUNK };

/* ---- a thread's sums in memory that only it reads ----
 *
 * In each cycle a scheduler of sm_90 reads one even and one odd register. Of the three operands of
 * an fma one is kept from the fma before it, so that the other two must be an even and an odd one,
 * or the fma takes two cycles. Columns of B come four at a time, in order; sums that are stored
 * with neighbours exchanged get registers in that order, and each has another parity than its
 * column: products of 4096 rows went from 62 % of the rate of fma alone to 71 %.
 */

DEVICE quad exchanged(const float *sum)
{
    quad q;
    q.x = sum[1];
    q.y = sum[0];
    q.z = sum[3];
    q.w = sum[2];
    return q;
}

DEVICE void read_exchanged(float *sum, quad q)
{
    sum[1] = q.x;
    sum[0] = q.y;
    sum[3] = q.z;
    sum[2] = q.w;
}

/* sum = q + sum. */
DEVICE void add_exchanged(float *sum, quad q)
{
    sum[1] = q.x + sum[1];
    sum[0] = q.y + sum[0];
    sum[3] = q.z + sum[3];
    sum[2] = q.w + sum[2];
}

/* ---- where a block is ---- */

/* Prefetches a line that is read later into the device's cache. */
DEVICE void bring_near(const void *global)
{
#ifdef __CUDACC__
    asm volatile("prefetch.global.L2 [%0];" ::"l"(global));
#else
    (void)global;
#endif
}

typedef struct place {
    uint32_t row, col; /* of the tile */
    uint32_t k, last;  /* of the next load, and the end of the block */
    uint32_t lane;     /* the thread that loads */
} place;

/* Offset in floats from the usual position of rows of A or C to the actual one: 0, or into a
 * block's own scratch. */
typedef struct shifted {
    int64_t a, c;
} shifted;

/* A thread's first element of C. */
typedef struct corner {
    uint32_t batch, row, col;
    int64_t shift;
} corner;

DEVICE bool is_by_quads(const takt_cuda_gemm *g, const float *b)
{
    return g->b_col == 1 && g->b_row % 4 == 0 && g->n % 4 == 0 && ((uintptr_t)b & 15) == 0;
}

DEVICE bool is_a_by_quads(const takt_cuda_gemm *g, const float *a)
{
    if (((uintptr_t)a & 15) != 0 || g->k % 4 != 0)
        return false;
    return g->is_conv ? (g->channels | g->pixel) % 4 == 0 : g->a_col == 1 && g->a_row % 4 == 0;
}

/* ---- A of a convolution ---- */

typedef struct tap {
    int32_t h, w; /* from the corner of the window, dilated */
    uint32_t channel;
} tap;

DEVICE tap tap_of(const takt_cuda_gemm *g, uint32_t k)
{
    const uint32_t pixel = k / g->channels;
    tap t;
    t.channel = k % g->channels;
    t.h = (int32_t)(pixel / g->kernel_width * g->dilation_h);
    t.w = (int32_t)(pixel % g->kernel_width * g->dilation_w);
    return t;
}

/* `by` elements of k further. */
DEVICE void tap_on(const takt_cuda_gemm *g, tap *t, uint32_t by)
{
    t->channel += by;
    while (t->channel >= g->channels) {
        t->channel -= g->channels;
        t->w += (int32_t)g->dilation_w;
        if (t->w >= (int32_t)(g->kernel_width * g->dilation_w)) {
            t->w = 0;
            t->h += (int32_t)g->dilation_h;
        }
    }
}

/* The corner of the window of a row, as coordinates and as an offset into x. */
typedef struct spot {
    int32_t h, w, base;
} spot;

DEVICE spot spot_of(const takt_cuda_gemm *g, uint32_t row)
{
    row = row < g->m ? row : g->m - 1;
    const uint32_t line = row / g->out_width, ow = row % g->out_width;
    const uint32_t image = line / g->out_height, oh = line % g->out_height;
    spot s;
    s.h = (int32_t)(oh * g->stride_h) - g->pad_h;
    s.w = (int32_t)(ow * g->stride_w) - g->pad_w;
    s.base = (int32_t)(image * g->image) + (s.h * (int32_t)g->width + s.w) * (int32_t)g->pixel;
    return s;
}

/* NULL: in the padding. */
DEVICE const float *pixel_of(const takt_cuda_gemm *g, const float *x, uint32_t row, tap t)
{
    const spot s = spot_of(g, row);
    if ((uint32_t)(s.h + t.h) >= g->height || (uint32_t)(s.w + t.w) >= g->width)
        return NULL;
    return x + s.base + (t.h * (int32_t)g->width + t.w) * (int32_t)g->pixel + (int32_t)t.channel;
}

#endif
