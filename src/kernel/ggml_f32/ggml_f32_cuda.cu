/* ggml_f32_cuda.cu - weights in ggml's blocks on a device: floats of rows, and products.
 *
 * A product reads the blocks themselves. A thread has a column and a chunk of 256 weights, which it
 * multiplies with up to eight rows of A; sums of chunks are added in order.
 */
#include "kernel/cuda/args.h"
#include "kernel/cuda/lang.h"
#include "kernel/cuda/math.inc"

#include "kernel/cuda/epilogue.inc"
#include "kernel/ggml_f32/cuda_weight.inc"
#include "kernel/ggml_f32/ggml_f32.h"

enum { COLS = TAKT_CUDA_GGML_COLS, ROWS = TAKT_CUDA_GGML_ROWS };
enum { CHUNK = TAKT_CUDA_GEMM_CHUNK, SLOTS = TAKT_CUDA_GGML_THREADS / COLS };

KERNEL(takt_cuda_ggml_rows_f32, takt_cuda_ggml_rows, TAKT_CUDA_GGML_THREADS)
{
    const uint64_t i = INDEX;
    if (i >= ARG.count)
        return;
    const uint64_t pick = i / ARG.width, weight = i % ARG.width;
    int64_t row = (int64_t)pick;
    if (ARG.index != NULL) {
        const int64_t n = (int64_t)ARG.n;
        row = ARG.is_narrow ? ((const int32_t *)ARG.index)[pick]
                            : ((const int64_t *)ARG.index)[pick];
        row = row < 0 ? row + n : row;
        if (row < 0 || row >= n) {
            least(ARG.fault, pick);
            row = 0;
        }
    }
    const uint64_t blocks = ARG.width / ARG.weights;
    const uint8_t *b =
        ARG.src + ((uint64_t)row * blocks + weight / ARG.weights) * ARG.bytes;
    const uint32_t at = (uint32_t)(weight % ARG.weights);
    float x;
#define ONE(function) x = function(b, at)
    BY_FORMAT(ARG.format, ONE)
#undef ONE
    ARG.dst[i] = x;
}

/* Products of `count` weights from block `b` on with rows of A, which begin `k` elements apart. */
#define CHAIN(function)                                                                            \
    for (uint32_t first = 0; first < count; first += g->weights, b += g->bytes)                    \
        ROLL for (uint32_t i = 0; i < g->weights; i++)                                             \
        {                                                                                          \
            const float w = function(b, i);                                                        \
            UNROLL                                                                                 \
            for (uint32_t r = 0; r < ROWS; r++)                                                    \
                acc[r] = fmaf(a[(uint64_t)(r < rows ? r : 0) * g->k + first + i], w, acc[r]);      \
        }

DEVICE void chain(const takt_cuda_ggml *g, const float *a, const uint8_t *b, uint32_t count,
                  uint32_t rows, float *acc)
{
    BY_FORMAT(g->format, CHAIN)
}

KERNEL(takt_cuda_ggml_product_f32, takt_cuda_ggml, TAKT_CUDA_GGML_THREADS)
{
    SHARED(float, part, SLOTS *ROWS *COLS);
    const uint32_t slot = LANE / COLS, lane = LANE % COLS;
    const uint32_t col = BLOCK_X * COLS + lane, row = BLOCK_Y * ROWS;
    const uint32_t rows = ARG.m - row < ROWS ? ARG.m - row : ROWS;
    const uint64_t line = (uint64_t)(ARG.k / ARG.weights) * ARG.bytes;
    const uint32_t chunks = (ARG.k + CHUNK - 1) / CHUNK;
    float total = 0.0f;
    for (uint32_t first = 0; first < chunks; first += SLOTS) {
        const uint32_t k = (first + slot) * CHUNK;
        float acc[ROWS];
        UNROLL
        for (uint32_t r = 0; r < ROWS; r++)
            acc[r] = 0.0f;
        if (k < ARG.k && col < ARG.n)
            chain(&ARG, ARG.a + (uint64_t)row * ARG.k + k,
                  ARG.b + col * line + (uint64_t)(k / ARG.weights) * ARG.bytes,
                  ARG.k - k < CHUNK ? ARG.k - k : CHUNK, rows, acc);
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
    if (slot < rows && col < ARG.n)
        ARG.c[(uint64_t)(row + slot) * ARG.n + col] =
            finished(&ARG.end, total, 0, row + slot, col);
}
