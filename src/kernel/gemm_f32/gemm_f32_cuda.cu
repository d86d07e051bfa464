/* gemm_f32_cuda.cu - f32 products and convolutions on a device, in the order of gemm_f32.h.
 *
 * Three sizes of tile, a kernel for few rows, and one that adds up the chunks of a product that was
 * cut along k because it has fewer tiles than the device has multiprocessors.
 */
#include "kernel/cuda/args.h"
#include "kernel/cuda/lang.h"
#include "kernel/cuda/math.h"

/* ---- what follows a product: takt_epilogue_f32 ---- */

enum { ACT_NONE, ACT_RELU, ACT_CLIP, ACT_RELU_MIN, ACT_LEAKY }; /* takt_gemm_act */

DEVICE float relu_of(float x)
{
    return x < 0.0f ? 0.0f : x;
}

DEVICE float act_of(const takt_cuda_gemm *g, float x)
{
    switch (g->act) {
    case ACT_RELU: return relu_of(x);
    case ACT_CLIP: return vf_min(vf_max(x, g->lo), g->hi);
    case ACT_RELU_MIN: return vf_min(relu_of(x), g->hi);
    case ACT_LEAKY: return x > 0.0f ? x : g->slope * x;
    default: return x;
    }
}

DEVICE float finished(const takt_cuda_gemm *g, float x, uint32_t row, uint32_t col)
{
    if (g->is_cut)
        return x;
    if (g->bias != NULL)
        x = x + g->bias[col];
    if (g->residual != NULL && !g->residual_last)
        x = x + g->residual[row * g->residual_row + col];
    x = act_of(g, x);
    if (g->residual != NULL && g->residual_last)
        x = x + g->residual[row * g->residual_row + col];
    return x;
}

/* Four neighbours of C, as many as there are. */
DEVICE void finish_four(const takt_cuda_gemm *g, float *c, uint32_t row, uint32_t col,
                        const float *sum)
{
    float *to = c + (g->is_cut ? (int64_t)row * g->n : row * g->c_row) + col;
    if (col + 4 <= g->n && ((uintptr_t)to & 15) == 0) {
        quad q;
        q.x = finished(g, sum[0], row, col);
        q.y = finished(g, sum[1], row, col + 1);
        q.z = finished(g, sum[2], row, col + 2);
        q.w = finished(g, sum[3], row, col + 3);
        *(quad *)to = q;
        return;
    }
    UNROLL
    for (uint32_t j = 0; j < 4; j++)
        if (col + j < g->n)
            to[j] = finished(g, sum[j], row, col + j);
}

/* ---- where a block is ---- */

typedef struct place {
    uint32_t row, col;      /* of the tile */
    uint32_t k, depth, end; /* of the next step, and the end of its chunk */
    bool by_quads;          /* B is read sixteen bytes at a time */
} place;

enum { BK = 16, STAGES = 3 };

DEVICE bool is_by_quads(const takt_cuda_gemm *g, const float *b)
{
    return g->b_col == 1 && g->b_row % 4 == 0 && g->n % 4 == 0 && ((uintptr_t)b & 15) == 0;
}

DEVICE uint32_t chunk_end(const takt_cuda_gemm *g, uint32_t k, uint32_t last)
{
    return last - k < g->chunk ? last : k + g->chunk;
}

/* To the next step: never across the end of a chunk. */
DEVICE void move_on(const takt_cuda_gemm *g, place *p, uint32_t last)
{
    p->k += p->depth;
    if (p->k == p->end)
        p->end = chunk_end(g, p->k, last);
    p->depth = p->end - p->k < BK ? p->end - p->k : BK;
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

/* NULL: in the padding. */
DEVICE const float *pixel_of(const takt_cuda_gemm *g, const float *x, uint32_t row, tap t)
{
    const uint32_t line = row / g->out_width, ow = row % g->out_width;
    const uint32_t image = line / g->out_height, oh = line % g->out_height;
    const int32_t h = (int32_t)(oh * g->stride_h) - g->pad_h + t.h;
    const int32_t w = (int32_t)(ow * g->stride_w) - g->pad_w + t.w;
    if (h < 0 || w < 0 || h >= (int32_t)g->height || w >= (int32_t)g->width)
        return NULL;
    return x + image * g->image + ((uint64_t)(uint32_t)h * g->width + (uint32_t)w) * g->pixel +
           t.channel;
}

/* ---- tiles ---- */

#define BM 128
#define BN 128
#define T 8
#define TILE(name) name##_128
#define TILED KERNEL(takt_cuda_gemm_f32_128, takt_cuda_gemm, 256)
#include "kernel/gemm_f32/cuda_tile.h"

#define BM 64
#define BN 64
#define T 4
#define TILE(name) name##_64
#define TILED KERNEL(takt_cuda_gemm_f32_64, takt_cuda_gemm, 256)
#include "kernel/gemm_f32/cuda_tile.h"

#define BM 32
#define BN 32
#define T 4
#define TILE(name) name##_32
#define TILED KERNEL(takt_cuda_gemm_f32_32, takt_cuda_gemm, 64)
#include "kernel/gemm_f32/cuda_tile.h"

/* ---- chunks that were computed apart ---- */

KERNEL(takt_cuda_gemm_f32_sum, takt_cuda_gemm_sum, 256)
{
    const uint64_t i = INDEX, count = (uint64_t)ARG.g.m * ARG.g.n;
    if (i >= count)
        return;
    float total = ARG.partial[i];
    for (uint32_t k = 1; k < ARG.chunks; k++)
        total = total + ARG.partial[k * count + i];
    const uint32_t row = (uint32_t)(i / ARG.g.n), col = (uint32_t)(i % ARG.g.n);
    ARG.g.c[row * ARG.g.c_row + col] = finished(&ARG.g, total, row, col);
}

/* ---- few rows: a thread is a column, a warp a chunk ---- */

enum { FEW = TAKT_CUDA_GEMM_FEW, COLS = TAKT_CUDA_GEMM_FEW_COLS, AT_ONCE = 16 };

/* The chain of one chunk for `rows` rows of A and one column of B. */
DEVICE void chain(const takt_cuda_gemm *g, const float *a, const float *b, uint32_t k, uint32_t end,
                  uint32_t rows, float *acc)
{
    UNROLL
    for (uint32_t r = 0; r < FEW; r++)
        acc[r] = 0.0f;
    for (; k + AT_ONCE <= end; k += AT_ONCE) {
        float y[AT_ONCE];
        UNROLL
        for (uint32_t q = 0; q < AT_ONCE; q++)
            y[q] = b[(k + q) * g->b_row];
        UNROLL
        for (uint32_t r = 0; r < FEW; r++) {
            if (r >= rows)
                break;
            UNROLL
            for (uint32_t q = 0; q < AT_ONCE; q++)
                acc[r] = fmaf(a[r * g->a_row + (k + q) * g->a_col], y[q], acc[r]);
        }
    }
    for (; k < end; k++)
        UNROLL
    for (uint32_t r = 0; r < FEW; r++)
        if (r < rows)
            acc[r] = fmaf(a[r * g->a_row + k * g->a_col], b[k * g->b_row], acc[r]);
}

/* Shared memory: chunks * rows * COLS floats. */
DEVICE void few_rows(const takt_cuda_gemm *g, float *shared, uint32_t rows SELF_PARAMETER)
{
    const uint32_t warp = LANE / COLS, l = LANE % COLS, warps = LANES / COLS;
    const uint32_t col = BLOCK_X * COLS + l, chunks = (g->k + g->chunk - 1) / g->chunk;
    const uint32_t batch = BLOCK_Z;
    const float *a = g->a + batch / g->inner * g->a_outer + batch % g->inner * g->a_inner;
    const float *b = g->b + batch / g->inner * g->b_outer + batch % g->inner * g->b_inner;
    float *c = g->c + batch * g->c_batch;
    if (col < g->n)
        for (uint32_t chunk = warp; chunk < chunks; chunk += warps) {
            float acc[FEW];
            chain(g, a, b + col * g->b_col, chunk * g->chunk, chunk_end(g, chunk * g->chunk, g->k),
                  rows, acc);
            UNROLL
            for (uint32_t r = 0; r < FEW; r++)
                if (r < rows)
                    shared[(chunk * rows + r) * COLS + l] = acc[r];
        }
    SYNC();
    for (uint32_t r = warp; r < rows && col < g->n; r += warps) {
        float total = chunks > 0 ? shared[r * COLS + l] : 0.0f;
        for (uint32_t chunk = 1; chunk < chunks; chunk++)
            total = total + shared[(chunk * rows + r) * COLS + l];
        c[r * g->c_row + col] = finished(g, total, r, col);
    }
}

KERNEL(takt_cuda_gemm_f32_row, takt_cuda_gemm, 1024)
{
    DYNAMIC(float, shared);
    few_rows(&ARG, shared, 1 SELF);
}

KERNEL(takt_cuda_gemm_f32_few, takt_cuda_gemm, 1024)
{
    DYNAMIC(float, shared);
    few_rows(&ARG, shared, ARG.m SELF);
}
