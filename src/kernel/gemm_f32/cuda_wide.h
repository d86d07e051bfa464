/* cuda_wide.h - a product tile by tile on a device, for large tiles; see cuda_tile.h.
 *
 * A thread keeps many sums here, so few warps fit on a multiprocessor, and none of them may wait.
 * What is multiplied next is read from shared memory while the factors before it are multiplied,
 * also from one stage to the next, which costs one barrier a stage. The loop is rolled: four k of
 * 128 sums are 8 KB of code, and longer code comes slower than it is executed. Totals of earlier
 * chunks lie in shared memory, which leaves registers for a second block on the multiprocessor.
 */

#include "kernel/gemm_f32/cuda_load.h"

#include "kernel/gemm_f32/cuda_end.h"

enum { TILE(LINES) = TILE(THREADS) / (BN / 4) /* of B that the threads load at once */ };

/* Two k of a thread's rows, and one k of its columns. */
DEVICE void TILE(read_a)(float *x, const float *a)
{
    UNROLL
    for (uint32_t i = 0; i < TM; i++) {
        const pair p = *(const pair *)(a + 8 * i * TILE(A_LINE));
        x[2 * i] = p.x;
        x[2 * i + 1] = p.y;
    }
}

DEVICE void TILE(read_b)(float *y, const float *b)
{
    UNROLL
    for (uint32_t j = 0; j < TN; j += 4)
        spread(y + j, *(const quad *)(b + 4 * j));
}

DEVICE void TILE(add)(float *acc, const float *x, const float *y)
{
    UNROLL
    for (uint32_t i = 0; i < TM; i++)
        UNROLL
    for (uint32_t j = 0; j < TN; j++)
        acc[i * TN + j] = fmaf(x[2 * i], y[j], acc[i * TN + j]);
}

/* The last k of a product, fewer than a stage has. */
DEVICE void TILE(add_rest)(float *acc, const float *a, const float *b, uint32_t depth)
{
    ROLL for (uint32_t q = 0; q < depth; q++)
    {
        UNROLL
        for (uint32_t i = 0; i < TM; i++)
            UNROLL
        for (uint32_t j = 0; j < TN; j++)
            acc[i * TN + j] = fmaf(a[8 * i * TILE(A_LINE) + q],
                                   b[q * TILE(B_LINE) + j / 4 * 16 + j % 4], acc[i * TN + j]);
    }
}

typedef struct TILE(factors) {
    const float *a, *b; /* of the batch */
    bool by_quads;      /* A is read sixteen bytes at a time */
} TILE(factors);

/* The next stage, if there is one: a whole one of neighbours by quads, or as cuda_load.h does. */
DEVICE void TILE(fill)(const takt_cuda_gemm *g, const TILE(factors) * f, float *stage, place *at,
                       const spot *spots, tap *here)
{
    if (at->k >= at->last)
        return;
#if GATHERS
    if (f->by_quads)
        TILE(load_quads)(g, f->a, stage, at, spots, here);
    else
        TILE(load_ones)(g, f->a, stage, at, at->lane);
    TILE(load_b)(g, f->b, stage + TILE(A_SIZE), at, at->lane);
#else
    if (f->by_quads && at->by_quads && at->last - at->k >= BK) {
        const uint32_t row = at->row + at->lane / TILE(QUADS);
        const uint32_t col = at->col + at->lane % (BN / 4) * 4;
        const float *a = f->a + (int64_t)row * g->a_row + at->k + at->lane % TILE(QUADS) * 4;
        const float *b = f->b + (int64_t)(at->k + at->lane / (BN / 4)) * g->b_row + col;
        float *to = stage + at->lane / TILE(QUADS) * TILE(A_LINE) + at->lane % TILE(QUADS) * 4;
        UNROLL
        for (uint32_t i = 0; i < TILE(PASSES); i++)
            if (row + i * TILE(ROWS) < g->m)
                copy_async(to + i * TILE(ROWS) * TILE(A_LINE),
                           a + (int64_t)(i * TILE(ROWS)) * g->a_row);
        to = stage + TILE(A_SIZE) + at->lane * 4;
        UNROLL
        for (uint32_t i = 0; i < BK / TILE(LINES); i++)
            if (col < g->n)
                copy_async(to + i * TILE(LINES) * TILE(B_LINE),
                           b + (int64_t)(i * TILE(LINES)) * g->b_row);
    } else {
        if (f->by_quads)
            TILE(load_quads)(g, f->a, stage, at, spots, here);
        else
            TILE(load_ones)(g, f->a, stage, at, at->lane);
        TILE(load_b)(g, f->b, stage + TILE(A_SIZE), at, at->lane);
    }
#endif
    at->k += BK;
}

TILED
{
    DYNAMIC(float, shared);
    const uint32_t lane = LANE, warp = lane / 32, l = lane % 32;
    const uint32_t high = warp % (BM / (8 * TM)) * (8 * TM) + l / 2 % 8;
    const uint32_t wide = warp / (BM / (8 * TM)) * (4 * TN) + (l % 2 + l / 16 * 2) * 4;
    const uint32_t across = (ARG.n + BN - 1) / BN, batch = BLOCK_Z / ARG.pieces;
    const uint32_t piece = BLOCK_Z % ARG.pieces, first = piece * CHUNK;
    const float *a = ARG.a + batch / ARG.inner * ARG.a_outer + batch % ARG.inner * ARG.a_inner;
    const float *b = ARG.b + batch / ARG.inner * ARG.b_outer + batch % ARG.inner * ARG.b_inner;
    place next = {BLOCK_X / across * BM, BLOCK_X % across * BN, first, ARG.k, lane, false};
    if (ARG.pieces > 1 && ARG.k - first > CHUNK)
        next.last = first + CHUNK;
    next.by_quads = is_by_quads(&ARG, b);
    const TILE(factors) from = {a, b, is_a_by_quads(&ARG, a)};
    const uint32_t last = next.last;
    spot spots[GATHERS ? TILE(PASSES) : 1];
    tap here = {0, 0, 0};
#if GATHERS
    here = tap_of(&ARG, first + lane % TILE(QUADS) * 4);
    UNROLL
    for (uint32_t i = 0; i < TILE(PASSES); i++)
        spots[i] = spot_of(&ARG, next.row + lane / TILE(QUADS) + i * TILE(ROWS));
#endif
    float acc[TM * TN], x0[2 * TM], x1[2 * TM], y0[TN], y1[TN];
    quad *const total = (quad *)(shared + STAGES * TILE(STAGE)) + lane;
    UNROLL
    for (uint32_t i = 0; i < TM * TN; i++)
        acc[i] = 0.0f;
    ROLL for (uint32_t s = 0; s < STAGES; s++)
    {
        TILE(fill)(&ARG, &from, shared + s * TILE(STAGE), &next, spots, &here);
        copy_end();
    }
    COPY_WAIT(STAGES - 1);
    SYNC();
    float *stage = shared;
    const float *x = stage + high * TILE(A_LINE), *y = stage + TILE(A_SIZE) + wide;
    TILE(read_a)(x0, x);
    TILE(read_b)(y0, y);
    ROLL for (uint32_t k = first; k < last;)
    {
        if (last - k < BK) /* k is never padded: -0 + 0 would be +0 */
            TILE(add_rest)(acc, x, y, last - k);
        else
            ROLL for (uint32_t q = 0; q < BK; q += 4)
            {
                TILE(read_a)(x1, x + 2);
                TILE(read_b)(y1, y + TILE(B_LINE));
                TILE(add)(acc, x0, y0);
                TILE(read_b)(y0, y + 2 * TILE(B_LINE));
                TILE(add)(acc, x0 + 1, y1);
                TILE(read_b)(y1, y + 3 * TILE(B_LINE));
                TILE(add)(acc, x1, y0);
                x += 4;
                y += 4 * TILE(B_LINE);
                if (q + 4 == BK) { /* all threads have read all of this stage */
                    COPY_WAIT(STAGES - 2);
                    SYNC();
                    TILE(fill)(&ARG, &from, stage, &next, spots, &here);
                    copy_end();
                    stage += TILE(STAGE);
                    if (stage == shared + STAGES * TILE(STAGE))
                        stage = shared;
                    x = stage + high * TILE(A_LINE);
                    y = stage + TILE(A_SIZE) + wide;
                }
                TILE(read_a)(x0, x);
                TILE(read_b)(y0, y);
                TILE(add)(acc, x1 + 1, y1);
            }
        const uint32_t begin = k;
        k += BK;
        if (k % CHUNK != 0 && k < last)
            continue;
        const bool adds_zero = ARG.adds_zero && k >= ARG.k, ends = k >= last;
        const bool begins = begin / CHUNK == piece; /* the block's first chunk */
        if (adds_zero) {
            UNROLL
            for (uint32_t i = 0; i < TM * TN; i++)
                acc[i] = acc[i] + 0.0f;
        }
        if (begins && ends)
            break;
        UNROLL
        for (uint32_t i = 0; i < TM * TN / 4; i++) {
            float *sum = acc + 4 * i;
            if (!begins)
                add_exchanged(sum, total[i * TILE(THREADS)]);
            if (!ends) {
                total[i * TILE(THREADS)] = exchanged(sum);
                sum[0] = sum[1] = sum[2] = sum[3] = 0.0f;
            }
        }
    }
    if (ARG.pieces > 1 && !TILE(gather_chunks)(&ARG, BLOCK_X, batch, piece, shared, acc SELF))
        return;
    TILE(finish)(&ARG, total, acc, batch, next.row + high, next.col + wide);
}

#undef TILED
#undef TILE
#undef BM
#undef BN
#undef TM
#undef TN
#undef BK
#undef STAGES
#undef GATHERS
