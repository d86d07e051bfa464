/* cuda_panel.h - a tile of 128 x 128 sums in the registers of 128 threads.
 *
 * Both factors lie in shared memory as lines of 128 floats for each k. Four k are in the loop:
 * straight code of eight, with factors loaded a k ahead, is faster alone (cuda_lines.inc), and was
 * slower where a kernel has two such loops, and blocks in both of them. cuda_place.h says why sums
 * that go to memory have their neighbours exchanged.
 */
#ifndef TAKT_KERNEL_GEMM_F32_CUDA_PANEL_H
#define TAKT_KERNEL_GEMM_F32_CUDA_PANEL_H

#include "kernel/gemm_f32/cuda_place.h"

enum { SIDE = 128, TALL = 16, BROAD = 8, SUMS = TALL * BROAD, PANEL_THREADS = 128, DEEP = 4 };

/* A thread's place: its first row and column, and what it copies: quad `quad` of every fourth line,
 * from `line` on. */
typedef struct seat {
    uint32_t lane, row, col, line, quad;
} seat;

enum { LINES = PANEL_THREADS / (SIDE / 4) };

DEVICE seat seat_of(uint32_t lane)
{
    const uint32_t warp = lane / 32, l = lane % 32;
    seat s;
    s.lane = lane;
    s.row = warp % 2 * 64 + (l % 2 + l / 8 % 2 * 2) * 4;
    s.col = warp / 2 * 64 + (l / 2 % 4 + l / 16 * 4) * 4;
    s.line = lane / (SIDE / 4);
    s.quad = lane % (SIDE / 4) * 4;
    return s;
}

/* Row i and column j of a thread, from its first ones on. */
DEVICE uint32_t row_of(uint32_t i)
{
    return i / 4 * 16 + i % 4;
}

DEVICE uint32_t col_of(uint32_t j)
{
    return j / 4 * 32 + j % 4;
}

/* One k; `is_exchanged`: neighbouring rows of a are. */
DEVICE void add_line(float *acc, const float *a, const float *b, const bool is_exchanged)
{
    float x[TALL], y[BROAD];
    UNROLL
    for (uint32_t i = 0; i < TALL; i += 4) {
        const quad q = *(const quad *)(a + row_of(i));
        if (is_exchanged)
            read_exchanged(x + i, q);
        else
            spread(x + i, q);
    }
    UNROLL
    for (uint32_t j = 0; j < BROAD; j += 4)
        spread(y + j, *(const quad *)(b + col_of(j)));
    UNROLL
    for (uint32_t i = 0; i < TALL; i++)
        UNROLL
    for (uint32_t c = 0; c < BROAD; c++) { /* there and back along the rows */
        const uint32_t j = i % 2 == 0 ? c : BROAD - 1 - c;
        acc[i * BROAD + j] = fmaf(x[i], y[j], acc[i * BROAD + j]);
    }
}

/* `depth` k, a multiple of DEEP. */
DEVICE void add_lines(float *acc, const float *a, const float *b, uint32_t depth,
                      const bool is_exchanged)
{
    ROLL for (uint32_t k = 0; k < depth; k += DEEP)
    {
        UNROLL
        for (uint32_t u = 0; u < DEEP; u++)
            add_line(acc, a + u * SIDE, b + u * SIDE, is_exchanged);
        a += DEEP * SIDE;
        b += DEEP * SIDE;
    }
}

DEVICE void clear(float *acc)
{
    UNROLL
    for (uint32_t i = 0; i < SUMS; i++)
        acc[i] = 0.0f;
}

#endif
