/* rows_f32_cuda_held.cu - softmax of a few long rows: a block's registers hold one.
 *
 * With few rows a device has nothing else to do while a row waits, so what counts is the way from
 * the first load to the last store: only the exponentials go through shared memory, for their sum.
 */
#include "kernel/cuda/fours.h"
#include "kernel/rows_f32/cuda_block.h"

enum { QUADS = TAKT_CUDA_ROWS_HELD / 4 }; /* of a thread */

/* Four elements from p on; NULL: smaller than any. */
DEVICE void four_or_none(float *to, const float *p)
{
    UNROLL
    for (uint32_t j = 0; j < 4; j++)
        to[j] = -INFINITY;
    if (p != NULL)
        load_four(to, p);
}

/* n is a multiple of four. */
KERNEL(takt_cuda_rows_f32_held, takt_cuda_rows, 1024)
{
    DYNAMIC(float, shared);
    const held_row r = {shared + LANES, (uint32_t)ARG.n, shared};
    const float *x = ARG.src + BLOCK_X * ARG.src_stride;
    float *d = ARG.dst + BLOCK_X * ARG.dst_stride;
    const uint32_t first = 4 * LANE, step = 4 * LANES;
    float y[4 * QUADS], most = -INFINITY;
    UNROLL
    for (uint32_t q = 0; q < QUADS; q++)
        four_or_none(y + 4 * q, first + q * step < r.n ? x + first + q * step : NULL);
    UNROLL
    for (uint32_t j = 0; j < 4 * QUADS; j++)
        most = larger(most, y[j]);
    most = block_max(&r, most SELF);
    UNROLL
    for (uint32_t q = 0; q < QUADS; q++) {
        if (first + q * step >= r.n)
            continue;
        UNROLL
        for (uint32_t j = 4 * q; j < 4 * q + 4; j++)
            y[j] = exp_share_f32(y[j] - most);
        *(quad *)(r.x + first + q * step) = quad_of(y + 4 * q);
    }
    SYNC();
    const float scale = 1.0f / block_sum(&r, PLAIN, 0 SELF);
    UNROLL
    for (uint32_t q = 0; q < QUADS; q++) {
        UNROLL
        for (uint32_t j = 4 * q; j < 4 * q + 4; j++)
            y[j] = y[j] * scale;
        if (first + q * step < r.n)
            store_four(d + first + q * step, y + 4 * q);
    }
}
