/* cuda_wide.h - a product tile by tile on a device, for large tiles; see cuda_tile.h.
 *
 * A thread keeps many sums here, so few warps fit on a multiprocessor, and what they execute
 * besides fma counts. A is turned on its way to shared memory: lines of rows for each k, so that a
 * thread reads its eight rows by two loads. It comes through registers, which are loaded one stage
 * ahead and stored when the stage is multiplied; B is copied. There are two stages, and one barrier
 * each.
 *
 * The fma of a k are taken there and back along the rows: the factor of A, or of B at the ends, is
 * kept from one fma to the next, and the other two registers are an even and an odd one
 * (cuda_place.h). DEEP k are in the loop: ptxas loads the factors of the next k before it needs
 * them, and with many of them moves sums between registers, so that more fma take two cycles. Eight
 * are best for tiles with few warps, one for those with many. A warp is HIGH threads high. Totals
 * of earlier chunks lie in shared memory.
 */
#define TURNED 1
#include "kernel/gemm_f32/cuda_load.h"

#define ROW(i) ((i) / 4 * (4 * HIGH) + (i) % 4)
#define COL(j) ((j) / 4 * (128 / HIGH) + (j) % 4)
#include "kernel/gemm_f32/cuda_end.h"

enum { TILE(LINES) = TILE(THREADS) / (BN / 4) /* of B that the threads load at once */ };

/* One k: acc[i][j] = fma(a[i], b[j], acc[i][j]). */
DEVICE void TILE(add)(float *acc, const float *a, const float *b)
{
    float x[TM], y[TN];
    UNROLL
    for (uint32_t i = 0; i < TM; i += 4)
        spread(x + i, *(const quad *)(a + ROW(i)));
    UNROLL
    for (uint32_t j = 0; j < TN; j += 4)
        spread(y + j, *(const quad *)(b + COL(j)));
    UNROLL
    for (uint32_t i = 0; i < TM; i++)
        UNROLL
    for (uint32_t c = 0; c < TN; c++) {
        const uint32_t j = i % 2 == 0 ? c : TN - 1 - c;
        acc[i * TN + j] = fmaf(x[i], y[j], acc[i * TN + j]);
    }
}

/* `depth` k of a stage. */
DEVICE void TILE(chain)(float *acc, const float *a, const float *b, uint32_t depth)
{
    uint32_t q = 0;
    ROLL for (; q + DEEP <= depth; q += DEEP)
    {
        UNROLL
        for (uint32_t u = 0; u < DEEP; u++)
            TILE(add)(acc, a + u * TILE(A_LINE), b + u * TILE(B_LINE));
        a += DEEP * TILE(A_LINE);
        b += DEEP * TILE(B_LINE);
    }
#if DEEP > 1
    ROLL for (; q < depth; q++, a += TILE(A_LINE), b += TILE(B_LINE)) TILE(add)(acc, a, b);
#endif
}

/* B of the next stage: a whole one of neighbours, or as cuda_load.h does. */
DEVICE void TILE(copy_b)(const takt_cuda_gemm *g, const float *from, float *to, const place *at)
{
    if (!at->by_quads || at->last - at->k < BK) {
        TILE(load_b)(g, from, to, at, at->lane);
        return;
    }
    const uint32_t col = at->col + at->lane % (BN / 4) * 4;
    const float *b = from + (int64_t)(at->k + at->lane / (BN / 4)) * g->b_row + col;
    UNROLL
    for (uint32_t i = 0; i < BK / TILE(LINES); i++)
        if (col < g->n)
            copy_async(to + at->lane * 4 + i * TILE(LINES) * TILE(B_LINE),
                       b + (int64_t)(i * TILE(LINES)) * g->b_row);
}

TILED
{
    DYNAMIC(float, shared);
    const uint32_t lane = LANE, warp = lane / 32, l = lane % 32;
    /* Half a warp reads eight quads at most on either side. */
    const uint32_t r = HIGH == 8 ? l / 2 % 8 : l % 2 + l / 8 % 2 * 2;
    const uint32_t c = HIGH == 8 ? l % 2 + l / 16 * 2 : l / 2 % 4 + l / 16 * 4;
    const uint32_t high = warp % (BM / (HIGH * TM)) * (HIGH * TM) + r * 4;
    const uint32_t wide = warp / (BM / (HIGH * TM)) * (32 / HIGH * TN) + c * 4;
    const uint32_t across = (ARG.n + BN - 1) / BN, batch = BLOCK_Z / ARG.pieces;
    const uint32_t piece = BLOCK_Z % ARG.pieces, first = piece * CHUNK;
    const float *a = ARG.a + batch / ARG.inner * ARG.a_outer + batch % ARG.inner * ARG.a_inner;
    const float *b = ARG.b + batch / ARG.inner * ARG.b_outer + batch % ARG.inner * ARG.b_inner;
    place next = {BLOCK_X / across * BM, BLOCK_X % across * BN, first, ARG.k, lane, false};
    if (ARG.pieces > 1 && ARG.k - first > CHUNK)
        next.last = first + CHUNK;
    next.by_quads = is_by_quads(&ARG, b);
    const bool by_quads = is_a_by_quads(&ARG, a);
    const uint32_t last = next.last;
    spot spots[GATHERS ? TILE(PASSES) : 1];
    tap here = {0, 0, 0};
#if GATHERS
    here = tap_of(&ARG, first + lane % TILE(QUADS) * 4);
    UNROLL
    for (uint32_t i = 0; i < TILE(PASSES); i++)
        spots[i] = spot_of(&ARG, next.row + lane / TILE(QUADS) + i * TILE(ROWS));
#endif
    float acc[TM * TN], held[4 * TILE(PASSES)];
    quad *const total = (quad *)(shared + STAGES * TILE(STAGE)) + lane;
    UNROLL
    for (uint32_t i = 0; i < TM * TN; i++)
        acc[i] = 0.0f;
    UNROLL
    for (uint32_t i = 0; i < 4 * TILE(PASSES); i++)
        held[i] = 0.0f;
    float *stage = shared + TILE(STAGE), *ahead = shared;
    ROLL for (uint32_t k = first, is_begun = 0; k < last;)
    {
        const bool more = next.k < last;
        if (more) {
            if (by_quads)
                TILE(hold)(&ARG, a, held, &next, spots, &here);
            else
                TILE(load_ones)(&ARG, a, ahead, &next, lane);
            TILE(copy_b)(&ARG, b, ahead + TILE(A_SIZE), &next);
            copy_end();
            next.k += BK;
        }
        if (is_begun)
            TILE(chain)
        (acc, stage + high, stage + TILE(A_SIZE) + wide, last - k < BK ? last - k : BK);
        if (more && by_quads)
            TILE(put)(ahead, held, lane);
        COPY_WAIT(0);
        SYNC();
        float *const other = stage;
        stage = ahead;
        ahead = other;
        if (!is_begun) {
            is_begun = 1;
            continue;
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
#undef TURNED
#undef ROW
#undef COL
#undef HIGH
#undef DEEP
