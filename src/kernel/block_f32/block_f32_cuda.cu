/* block_f32_cuda.cu - products with weights of 2, 4 or 8 bits that have a scale per block, on a
 * device.
 *
 * A thread has a column and a chunk of 256 weights, which it multiplies with up to eight rows of A;
 * sums of chunks are added in order. Weights are those of block_f32.h.
 */
#include "kernel/cuda/args.h"
#include "kernel/cuda/lang.h"
#include "kernel/cuda/math.inc"

#include "kernel/cuda/args_block.h"
#include "kernel/cuda/element.inc"

enum { COLS = TAKT_CUDA_BLOCK_COLS, ROWS = TAKT_CUDA_BLOCK_ROWS, GRAIN = TAKT_CUDA_BLOCK_GRAIN };
enum { CHUNK = TAKT_CUDA_GEMM_CHUNK, SLOTS = TAKT_CUDA_BLOCK_THREADS / COLS };

/* A level of `bits` bits as a number. */
DEVICE float level_of(const takt_cuda_block_args *g, uint32_t code)
{
    const uint32_t sign = 1U << (g->bits - 1);
    const int32_t low = (int32_t)(code & (2 * sign - 1));
    return (float)(g->is_signed && (code & sign) != 0 ? low - (int32_t)(2 * sign) : low);
}

DEVICE uint32_t code_at(const takt_cuda_block_args *g, const uint8_t *levels, uint64_t i)
{
    const uint64_t at = i * g->bits;
    return (uint32_t)levels[at / 8] >> (at % 8);
}

DEVICE float scale_of(const takt_cuda_block_args *g, uint64_t block)
{
    return f32_of(loaded(g->is_half ? TAKT_F16 : TAKT_F32, g->scale, (int64_t)block));
}

DEVICE float zero_of(const takt_cuda_block_args *g, uint64_t block)
{
    if (g->zero_kind == TAKT_CUDA_ZERO_FLOATS)
        return ((const float *)g->zero)[block];
    return level_of(g, code_at(g, (const uint8_t *)g->zero,
                               g->zero_kind == TAKT_CUDA_ZERO_ONE ? 0 : block));
}

/* `count` codes from weight `i` on: by words where a row has a whole number of them. */
DEVICE void codes_of(const takt_cuda_block_args *g, uint64_t i, uint32_t count, uint32_t *to)
{
    const bool is_even = g->k * g->bits % 32 == 0 && count == GRAIN;
    const uint32_t *words = (const uint32_t *)(g->levels + i * g->bits / 8);
    UNROLL
    for (uint32_t j = 0; j < GRAIN; j++) {
        if (is_even)
            to[j] = words[j * g->bits / 32] >> (j * g->bits % 32);
        else if (j < count)
            to[j] = code_at(g, g->levels, i + j);
        else
            to[j] = 0;
    }
}

/* Products of weights [first, end) of a column with rows of A; `rows`: ROWS, or 1. */
DEVICE void run_chain(const takt_cuda_block_args *g, uint32_t col, uint32_t row, uint32_t first,
                      const uint32_t rows, float *acc)
{
    const uint32_t end = g->k - first < CHUNK ? g->k : first + CHUNK;
    for (uint32_t k = first; k < end; k += GRAIN) {
        const uint32_t count = end - k < GRAIN ? end - k : GRAIN;
        const uint64_t block = (uint64_t)col * g->blocks + k / g->block;
        const float scale = scale_of(g, block);
        const float zero = g->zero_kind != TAKT_CUDA_ZERO_NONE ? zero_of(g, block) : 0.0f;
        uint32_t codes[GRAIN];
        codes_of(g, (uint64_t)col * g->k + k, count, codes);
        UNROLL
        for (uint32_t j = 0; j < GRAIN; j++) {
            if (j >= count)
                continue;
            const float w = (level_of(g, codes[j]) - zero) * scale;
            UNROLL
            for (uint32_t r = 0; r < rows; r++) {
                const uint32_t at = row + r < g->m ? row + r : row;
                acc[r] = fmaf(g->a[(uint64_t)at * g->k + k + j], w, acc[r]);
            }
        }
    }
}

KERNEL(takt_cuda_block_f32, takt_cuda_block_args, TAKT_CUDA_BLOCK_THREADS)
{
    SHARED(float, part, SLOTS *ROWS *COLS);
    const uint32_t slot = LANE / COLS, lane = LANE % COLS;
    const uint32_t col = BLOCK_X * COLS + lane, row = BLOCK_Y * ROWS;
    const uint32_t chunks = (ARG.k + CHUNK - 1) / CHUNK;
    float total = 0.0f;
    for (uint32_t first = 0; first < chunks; first += SLOTS) {
        const uint32_t k = (first + slot) * CHUNK;
        float acc[ROWS];
        UNROLL
        for (uint32_t r = 0; r < ROWS; r++)
            acc[r] = 0.0f;
        if (k < ARG.k && col < ARG.n && ARG.m == 1)
            run_chain(&ARG, col, row, k, 1, acc);
        else if (k < ARG.k && col < ARG.n)
            run_chain(&ARG, col, row, k, ROWS, acc);
        UNROLL
        for (uint32_t r = 0; r < ROWS; r++)
            part[(slot * ROWS + r) * COLS + lane] = acc[r];
        SYNC();
        for (uint32_t s = 0; s < SLOTS && first + s < chunks; s++) {
            const float sum = part[(s * ROWS + slot) * COLS + lane];
            total = first + s == 0 ? sum : total + sum;
        }
        SYNC();
    }
    if (row + slot < ARG.m && col < ARG.n)
        ARG.c[(uint64_t)(row + slot) * ARG.n + col] =
            ARG.bias != NULL ? total + ARG.bias[col] : total;
}
