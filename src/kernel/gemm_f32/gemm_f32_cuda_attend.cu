/* gemm_f32_cuda_attend.cu - long attention on a device: a block has 128 queries of a head.
 *
 * It makes all their scores, turns them into weights, and multiplies these by v. The contract wants
 * the exact maximum and the ordered sum of a row before the first weight, and 128 rows do not fit
 * shared memory, so scores go through memory; they are on their way while the other block of the
 * multiprocessor multiplies. As launches one after the other, all blocks would wait for memory at
 * the same time.
 */
#include "kernel/cuda/args_attend.h"
#include "kernel/gemm_f32/cuda_place.h"
#include "kernel/rows_f32/cuda_block.h"

#define BM 128
#define BN 128
#define TM 16
#define TN 8
#define BK 16
#define STAGES 2
#define HIGH 4
#define DEEP 8
#define GATHERS 0
#define TILE(name) name##_panel
#include "kernel/gemm_f32/cuda_wide.inc"

enum { WARP = 32, BLOCK = 128, WARPS = BLOCK / WARP, LOADS = 8 };

DEVICE quad scaled(quad q, float scale)
{
    q.x = q.x * scale;
    q.y = q.y * scale;
    q.z = q.z * scale;
    q.w = q.w * scale;
    return q;
}

/* Stores the thread's quads of a row, scaled, to shared memory; returns the largest. */
DEVICE float bring_row(const float *row, uint32_t keys, float scale, float *x, uint32_t l)
{
    float most = -INFINITY;
    ROLL for (uint32_t i = 4 * l; i < keys; i += 4 * WARP * LOADS)
    {
        quad q[LOADS];
        UNROLL
        for (uint32_t u = 0; u < LOADS; u++)
            q[u] = *(const quad *)(row + (i + 4 * WARP * u < keys ? i + 4 * WARP * u : i));
        UNROLL
        for (uint32_t u = 0; u < LOADS; u++) {
            if (i + 4 * WARP * u >= keys)
                continue;
            q[u] = scaled(q[u], scale);
            *(quad *)(x + i + 4 * WARP * u) = q[u];
            most = larger(larger(larger(larger(most, q[u].x), q[u].y), q[u].z), q[u].w);
        }
    }
    return most;
}

DEVICE float largest_of(const float *part)
{
    float most = -INFINITY;
    UNROLL
    for (uint32_t k = 0; k < WARP; k += 4) {
        const quad q = *(const quad *)(part + k);
        most = larger(larger(larger(larger(most, q.x), q.y), q.z), q.w);
    }
    return most;
}

/* Turns scores of the first `rows` rows of a panel into weights; one warp per row. */
DEVICE void weigh_panel(const takt_cuda_attend_long *w, float *scores, uint32_t rows,
                        float *shared SELF_PARAMETER)
{
    const uint32_t warp = LANE / WARP, l = LANE % WARP;
    float *const most_part = shared, *const sum_part = shared + BLOCK;
    float *const x = shared + 2 * BLOCK + warp * w->keys;
    ROLL for (uint32_t first = 0; first < rows; first += WARPS)
    {
        const uint32_t keys = first + warp < rows ? w->keys : 0;
        float *const row = scores + (uint64_t)(first + warp) * w->keys;
        most_part[LANE] = bring_row(row, keys, w->scale, x, l);
        SYNC();
        const float most = largest_of(most_part + warp * WARP);
        ROLL for (uint32_t i = 4 * l; i < keys; i += 4 * WARP)
        {
            quad q = *(const quad *)(x + i);
            q.x = exp_down_f32(q.x - most);
            q.y = exp_down_f32(q.y - most);
            q.z = exp_down_f32(q.z - most);
            q.w = exp_down_f32(q.w - most);
            *(quad *)(x + i) = q;
        }
        SYNC();
        if (l < WIDE)
            sum_part[LANE] = lane_sum(PLAIN, x + l, keys > l ? keys - l : 0, 0.0f);
        SYNC();
        const float scale = 1.0f / fold(sum_part + warp * WARP);
        ROLL for (uint32_t i = 4 * l; i < keys; i += 4 * WARP)
            *(quad *)(row + i) = scaled(*(const quad *)(x + i), scale);
    }
}

KERNEL(takt_cuda_attend_long_f32, takt_cuda_attend_long, 128, 2)
{
    DYNAMIC(float, shared);
    const uint64_t room = (uint64_t)BLOCK_X * TAKT_CUDA_ATTEND_ROWS * ARG.keys;
    ROLL for (uint32_t panel = BLOCK_X; panel < ARG.panels; panel += ARG.blocks)
    {
        const uint32_t plane = panel / ARG.each, top = panel % ARG.each;
        const uint32_t left = ARG.product[0].m - top * TAKT_CUDA_ATTEND_ROWS;
        const int64_t shift =
            (int64_t)room - (int64_t)top * TAKT_CUDA_ATTEND_ROWS * (int64_t)ARG.keys;
        ROLL for (uint32_t t = 0; t < ARG.tiles[0] + ARG.tiles[1]; t++)
        {
            const bool is_scores = t < ARG.tiles[0];
            const shifted by = {is_scores ? 0 : shift, is_scores ? shift : 0};
            const uint32_t tile = is_scores ? top * ARG.tiles[0] + t
                                            : top * ARG.tiles[1] + t - ARG.tiles[0];
            if (t == ARG.tiles[0]) {
                SYNC();
                weigh_panel(&ARG, ARG.product[0].c + room,
                            left < TAKT_CUDA_ATTEND_ROWS ? left : TAKT_CUDA_ATTEND_ROWS,
                            shared SELF);
                SYNC();
            }
            run_panel(&ARG.product[is_scores ? 0 : 1], shared, tile, plane, by SELF);
        }
    }
}
