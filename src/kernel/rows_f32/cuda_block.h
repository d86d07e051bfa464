/* cuda_block.h - rows in the shared memory of a block: exact maximum and ordered sums. */
#ifndef TAKT_KERNEL_ROWS_F32_CUDA_BLOCK_H
#define TAKT_KERNEL_ROWS_F32_CUDA_BLOCK_H

#include "kernel/cuda/args.h"
#include "kernel/cuda/lanes.h"
#include "kernel/cuda/math.inc"

enum { THREADS = TAKT_CUDA_ROWS_THREADS, ROW_CHUNK = 4096 };

typedef enum summand { PLAIN, SQUARE, SQUARE_OF_DIFFERENCE, EXPONENTIAL } summand;

DEVICE float join(summand what, float lane, float x, float mean)
{
    const float d = what == SQUARE_OF_DIFFERENCE ? x - mean : x;
    if (what == EXPONENTIAL)
        return lane + exp_share_f32(x);
    return what == PLAIN ? lane + x : fmaf(d, d, lane);
}

/* Sixteen lanes in shared memory, aligned to sixteen bytes. */
DEVICE float fold(const float *lane)
{
    float v[WIDE];
    UNROLL
    for (int k = 0; k < WIDE; k += 4)
        spread(v + k, *(const quad *)(lane + k));
    UNROLL
    for (int k = 0; k < 8; k++)
        v[k] = v[k] + v[k + 8];
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

DEVICE float larger(float most, float x)
{
    return x > most ? x : most;
}

/* The largest of the threads' values: 128 threads reduce first, then sixteen, and all threads read
 * the result. Sixteen alone would take longer than the rest of a softmax of 10,000. */
DEVICE float block_max(const held_row *r, float most SELF_PARAMETER)
{
    enum { MANY = 128, MOST = 1024 };
    r->part[LANE] = most;
    SYNC();
    if (LANES > MANY) {
        if (LANE < MANY) {
            UNROLL
            for (uint32_t k = MANY; k < MOST; k += MANY)
                most = larger(most, r->part[LANE + (k < LANES ? k : 0)]);
            r->part[LANE] = most;
        }
        SYNC();
    }
    if (LANE < WIDE) {
        UNROLL
        for (uint32_t k = WIDE; k < MANY; k += WIDE)
            most = larger(most, r->part[LANE + k]);
        r->part[LANE] = most;
    }
    SYNC();
    float v[WIDE];
    UNROLL
    for (uint32_t k = 0; k < WIDE; k += 4)
        spread(v + k, *(const quad *)(r->part + k));
    UNROLL
    for (uint32_t k = 0; k < WIDE; k++)
        most = larger(most, v[k]);
    SYNC();
    return most;
}

/* A lane of n elements, from x on; the next ones are loaded while these are added. */
DEVICE float lane_sum(summand what, const float *x, uint32_t n, float mean)
{
    enum { STEP = AT_ONCE * WIDE };
    float sum = 0;
    uint32_t i = 0;
    if (STEP - WIDE < n) {
        float y[AT_ONCE], z[AT_ONCE];
        read_lane(y, x);
        ROLL for (i = STEP; i + STEP - WIDE < n; i += STEP)
        {
            read_lane(z, x + i);
            UNROLL
            for (uint32_t k = 0; k < AT_ONCE; k++)
                sum = join(what, sum, y[k], mean);
            UNROLL
            for (uint32_t k = 0; k < AT_ONCE; k++)
                y[k] = z[k];
        }
        UNROLL
        for (uint32_t k = 0; k < AT_ONCE; k++)
            sum = join(what, sum, y[k], mean);
    }
    for (; i < n; i += WIDE)
        sum = join(what, sum, x[i], mean);
    return sum;
}

/* The sum over the row; every sixteen threads take a chunk. */
DEVICE float block_sum(const held_row *r, summand what, float mean SELF_PARAMETER)
{
    const uint32_t lane = LANE % WIDE, mine = LANE / WIDE, together = LANES / WIDE;
    const uint32_t chunks = (r->n + ROW_CHUNK - 1) / ROW_CHUNK;
    float total = 0;
    for (uint32_t first = 0; first < chunks; first += together) {
        const uint32_t begin = (first + mine) * ROW_CHUNK + lane;
        const uint32_t left = r->n > begin ? r->n - begin : 0, most = ROW_CHUNK - lane;
        r->part[LANE] = lane_sum(what, r->x + begin, left < most ? left : most, mean);
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
