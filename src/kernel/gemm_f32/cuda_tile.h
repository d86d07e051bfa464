/* cuda_tile.h - a product tile by tile on a device, for one size of tile.
 *
 * A template. A block computes BM x BN with threads of TM x TN elements each, in warps of 8 x 4
 * threads. Tiles of A and B, BK deep, come to shared memory STAGES - 1 ahead of their use: A as it
 * lies, lines of k, so that neither side is transposed; a thread reads four k of a line at a time.
 * The sum of a chunk is one fma chain in a register; totals of earlier chunks are touched once a
 * chunk. TILE(name) gives names, TILED is the head of the kernel, GATHERS is 1 if A is a
 * convolution's. Tiles of more sums a thread are cuda_wide.h's.
 */
#define TURNED 0
#include "kernel/gemm_f32/cuda_load.h"

#define ROW(i) (8 * (i))
#define COL(j) ((j) / 4 * 16 + (j) % 4)
#include "kernel/gemm_f32/cuda_end.h"

/* ---- the chain: acc[i][j] = fma(a[i], b[j], acc[i][j]) for every k ---- */

/* Four k. */
DEVICE void TILE(four)(const float *a, const float *b, float *acc)
{
    float x[TM][4], y[TN];
    UNROLL
    for (uint32_t i = 0; i < TM; i++)
        spread(x[i], *(const quad *)(a + 8 * i * TILE(A_LINE)));
    UNROLL
    for (uint32_t s = 0; s < 4; s++) {
        UNROLL
        for (uint32_t j = 0; j < TN; j += 4)
            spread(y + j, *(const quad *)(b + s * TILE(B_LINE) + 4 * j));
        UNROLL
        for (uint32_t i = 0; i < TM; i++)
            UNROLL
        for (uint32_t c = 0; c < TN; c++) { /* there and back: one factor is always kept */
            const uint32_t j = i % 2 == 0 ? c : TN - 1 - c;
            acc[i * TN + j] = fmaf(x[i][s], y[j], acc[i * TN + j]);
        }
    }
}

DEVICE void TILE(multiply)(const float *a, const float *b, uint32_t depth, float *acc)
{
    if (depth == BK) { /* without a branch: loads of one step go on during the one before */
        UNROLL
        for (uint32_t q = 0; q < BK; q += 4)
            TILE(four)(a + q, b + q * TILE(B_LINE), acc);
        return;
    }
    ROLL for (uint32_t q = 0; q < depth; q++) /* k is never padded: -0 + 0 would be +0 */
        UNROLL for (uint32_t i = 0; i < TM; i++) UNROLL for (uint32_t j = 0; j < TN; j++)
            acc[i * TN + j] = fmaf(a[8 * i * TILE(A_LINE) + q],
                                   b[q * TILE(B_LINE) + j / 4 * 16 + j % 4], acc[i * TN + j]);
}

TILED
{
    DYNAMIC(float, shared);
    const uint32_t lane = LANE, warp = lane / 32, l = lane % 32;
    /* Lanes i and i ^ 1 share a row, i and i ^ 2 four columns: half a warp reads both sides of
     * shared memory in one pass, where eight different rows in a quarter of a warp would take two.
     */
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
    const bool by_quads = is_a_by_quads(&ARG, a);
    spot spots[GATHERS ? TILE(PASSES) : 1];
    tap here = {0, 0, 0};
#if GATHERS
    here = tap_of(&ARG, first + lane % TILE(QUADS) * 4);
    UNROLL
    for (uint32_t i = 0; i < TILE(PASSES); i++)
        spots[i] = spot_of(&ARG, next.row + lane / TILE(QUADS) + i * TILE(ROWS));
#endif
    const uint32_t last = next.last;
    float acc[TM * TN];
    float totals[TM * TN];
    UNROLL
    for (uint32_t i = 0; i < TM * TN; i++)
        acc[i] = 0.0f;
    UNROLL
    for (uint32_t i = 0; i < TM * TN; i++)
        totals[i] = 0.0f;
    uint32_t to = 0, from = 0;
    ROLL for (uint32_t k = first, ahead = 0; k < last || ahead < STAGES - 1;)
    {
        if (ahead == STAGES - 1) {
            COPY_WAIT(STAGES - 2);
            SYNC();
        }
        if (next.k < last) {
            float *stage = shared + to * TILE(STAGE);
            if (by_quads)
                TILE(load_quads)(&ARG, a, stage, &next, spots, &here);
            else
                TILE(load_ones)(&ARG, a, stage, &next, lane);
            TILE(load_b)(&ARG, b, stage + TILE(A_SIZE), &next, lane);
            next.k += BK;
        }
        copy_end();
        to = to + 1 == STAGES ? 0 : to + 1;
        if (ahead < STAGES - 1) {
            ahead++;
            continue;
        }
        const float *stage = shared + from * TILE(STAGE);
        TILE(multiply)
        (stage + high * TILE(A_LINE), stage + TILE(A_SIZE) + wide, last - k < BK ? last - k : BK,
         acc);
        from = from + 1 == STAGES ? 0 : from + 1;
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
        for (uint32_t i = 0; i < TM * TN; i++) {
            totals[i] = begins ? acc[i] : totals[i] + acc[i];
            acc[i] = ends ? totals[i] : 0.0f;
        }
    }
    if (ARG.pieces > 1 && !TILE(gather_chunks)(&ARG, BLOCK_X, batch, piece, shared, acc SELF))
        return;
    SYNC(); /* nothing reads the stages any more */
    TILE(finish)(&ARG, (quad *)shared + lane, acc, batch, next.row + high, next.col + wide);
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
#undef TURNED
#undef ROW
#undef COL
