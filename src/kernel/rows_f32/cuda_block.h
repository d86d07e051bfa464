/* cuda_block.h - rows in the shared memory of a block: exact maximum and ordered sums. */
#ifndef TAKT_KERNEL_ROWS_F32_CUDA_BLOCK_H
#define TAKT_KERNEL_ROWS_F32_CUDA_BLOCK_H

#include "kernel/cuda/args.h"
#include "kernel/cuda/lang.h"
#include "kernel/cuda/math.inc"

enum { THREADS = TAKT_CUDA_ROWS_THREADS, WIDE = 16, CHUNK = 4096, AT_ONCE = 16 };

typedef enum summand { PLAIN, SQUARE, SQUARE_OF_DIFFERENCE, EXPONENTIAL } summand;

DEVICE float join(summand what, float lane, float x, float mean)
{
    const float d = what == SQUARE_OF_DIFFERENCE ? x - mean : x;
    if (what == EXPONENTIAL)
        return lane + exp_down_f32(x);
    return what == PLAIN ? lane + x : fmaf(d, d, lane);
}

DEVICE float fold(const float *lane)
{
    float v[WIDE / 2];
    UNROLL
    for (int k = 0; k < 8; k++)
        v[k] = lane[k] + lane[k + 8];
    UNROLL
    for (int k = 0; k < 4; k++)
        v[k] = v[k] + v[k + 4];
    return (v[0] + v[2]) + (v[1] + v[3]);
}

typedef struct held_row {
    float *x; /* shared */
    uint32_t n;
    float *part; /* shared: a float a thread */
} held_row;

/* The largest of the threads' values: sixteen threads take the others', and all take theirs. */
DEVICE float block_max(const held_row *r, float most SELF_PARAMETER)
{
    r->part[LANE] = most;
    SYNC();
    if (LANE < WIDE) {
        for (uint32_t k = LANE + WIDE; k < LANES; k += WIDE)
            most = r->part[k] > most ? r->part[k] : most;
        r->part[LANE] = most;
    }
    SYNC();
    UNROLL
    for (uint32_t k = 0; k < WIDE; k++)
        most = r->part[k] > most ? r->part[k] : most;
    SYNC();
    return most;
}

/* The sum over the row; every sixteen threads take a chunk. */
DEVICE float block_sum(const held_row *r, summand what, float mean SELF_PARAMETER)
{
    const uint32_t lane = LANE % WIDE, mine = LANE / WIDE, together = LANES / WIDE;
    const uint32_t chunks = (r->n + CHUNK - 1) / CHUNK;
    float total = 0;
    for (uint32_t first = 0; first < chunks; first += together) {
        const uint32_t begin = (first + mine) * CHUNK;
        const uint32_t end = r->n < begin + CHUNK ? r->n : begin + CHUNK;
        float sum = 0;
        uint32_t i = begin + lane;
        for (; i + (AT_ONCE - 1) * WIDE < end; i += AT_ONCE * WIDE) {
            float y[AT_ONCE];
            UNROLL
            for (uint32_t k = 0; k < AT_ONCE; k++)
                y[k] = r->x[i + k * WIDE];
            UNROLL
            for (uint32_t k = 0; k < AT_ONCE; k++)
                sum = join(what, sum, y[k], mean);
        }
        for (; i < end; i += WIDE)
            sum = join(what, sum, r->x[i], mean);
        r->part[LANE] = sum;
        SYNC();
        for (uint32_t k = 0; k < together && first + k < chunks; k++) {
            const float whole = fold(r->part + k * WIDE);
            total = first + k == 0 ? whole : total + whole;
        }
        SYNC();
    }
    return total;
}

#endif
