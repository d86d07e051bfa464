/* neon.h - tiles of 8 x 12 and 8 x 8, one row by four distant panels: shared by the variants with
 * and without fmlal. */
#include "kernel/gemm_f32/gemm_f32.h"

#include <arm_neon.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "kernel/simd/zeros.h"

typedef float elem;
typedef uint32_t word;
typedef takt_gemm_f32 gemm;
typedef takt_epilogue_f32 epilogue;
enum { WIDE = 12, NARROW = 8, PANELS = 1, MR = 8, QUAD = 4 };
enum { A_BYTES = 1024 << 10, B_BYTES = 192 << 10, MASKED = 0, HALF_ROWS = 1 };
enum { STREAMS = 4, FAR_STREAMS = STREAMS, ASKS_FAR = 16 << 20, ASKS_NEAR = 1 << 20 };

#include "kernel/gemm_f32/epilogue.h"

#define RUNS 1
#define TURNS 4
#include "kernel/gemm_f32/blocked.h"

#include "kernel/gemm_f32/stored.h"

#include "kernel/gemm_f32/neon_panel.h"

enum { FEW_COLUMNS = 48 };

/* Whether packing A costs more than it gains: up to this many columns. */
static bool has_few_columns(const gemm *g)
{
    return g->n <= FEW_COLUMNS || (g->k <= CHUNK && g->n <= FEW_COLUMNS * 4 / 3) ||
           (g->k <= 24 && g->n <= 3 * FEW_COLUMNS);
}

/* Rows of a tile that reads A where it lies; 0: A is packed. Rows that are a multiple of a page
 * apart would push each other out of L1. */
static size_t rows_in_place(const gemm *g)
{
    const bool fits = g->m >= 2 * MR && has_few_columns(g) && g->a_col == 1 && g->a_row > 0 &&
                      g->k > 0 && g->k % QUAD == 0 &&
                      (g->a_row * sizeof(elem) % 4096 != 0 || g->k <= 64);
    return !fits ? 0 : wide_columns(g) > 0 ? MR - 1 : MR;
}

/* [k][8], or [k][4] for up to four rows. */
static size_t strip_elems(size_t rows, size_t k)
{
    return (rows > 4 ? 8 : 4) * k;
}

typedef struct quad {
    float32x4_t v[4];
} quad;

/* Four rows of A, four k: turned round. */
static inline __attribute__((always_inline)) quad turned(const float *a, size_t a_row)
{
    const float32x4_t r0 = vld1q_f32(a), r1 = vld1q_f32(a + a_row), r2 = vld1q_f32(a + 2 * a_row),
                      r3 = vld1q_f32(a + 3 * a_row);
    const float64x2_t ab0 = vreinterpretq_f64_f32(vtrn1q_f32(r0, r1)),
                      ab1 = vreinterpretq_f64_f32(vtrn2q_f32(r0, r1)),
                      cd0 = vreinterpretq_f64_f32(vtrn1q_f32(r2, r3)),
                      cd1 = vreinterpretq_f64_f32(vtrn2q_f32(r2, r3));
    return (quad){
        {vreinterpretq_f32_f64(vtrn1q_f64(ab0, cd0)), vreinterpretq_f32_f64(vtrn1q_f64(ab1, cd1)),
         vreinterpretq_f32_f64(vtrn2q_f64(ab0, cd0)), vreinterpretq_f32_f64(vtrn2q_f64(ab1, cd1))}};
}

/* Columns [first, k) of a strip, one by one; a missing row repeats the first: its results are never
 * used. */
static void by_element(const gemm *g, const float *a, size_t rows, size_t first, size_t k,
                       float *to)
{
    const size_t width = rows > 4 ? 8 : 4;
    for (size_t p = first; p < k; p++)
        for (size_t r = 0; r < width; r++)
            to[p * width + r] = a[(r < rows ? r : 0) * g->a_row + p * g->a_col];
}

static void pack_strip(const gemm *g, const float *a, size_t rows, size_t k, float *to)
{
    size_t p = 0;
    if (g->a_col == 1 && rows > 4) {
        /* Rows 4 to 7, or the last four there are: those packed twice come out right. */
        const size_t row = g->a_row, late = rows - 4;
        float *at = to;
        for (; rows == 8 && p + 4 <= k; p += 4, at += 32) {
            const quad x = turned(a + p, row), y = turned(a + p + 4 * row, row);
            for (int i = 0; i < 4; i++) {
                vst1q_f32(at + 8 * i, x.v[i]);
                vst1q_f32(at + 8 * i + 4, y.v[i]);
            }
        }
        for (; p + 4 <= k; p += 4, at += 32) {
            const quad x = turned(a + p, row), y = turned(a + p + late * row, row);
            for (int i = 0; i < 4; i++) {
                vst1q_f32(at + 8 * i + late, y.v[i]);
                vst1q_f32(at + 8 * i, x.v[i]);
            }
        }
    } else if (g->a_col == 1 && rows == 4) {
        for (; p + 4 <= k; p += 4) {
            const quad x = turned(a + p, g->a_row);
            for (int i = 0; i < 4; i++)
                vst1q_f32(to + 4 * (p + (size_t)i), x.v[i]);
        }
    }
    by_element(g, a, rows, p, k, to);
}

/* A line of A' has the same k of two strips. Its rows are often whole pages apart, where the
 * hardware prefetches nothing and L1 keeps a few lines: all of a line is used at once. */
static void pack_turned(const float *a, size_t a_col, size_t strips, size_t k, float *to)
{
    enum { AHEAD = 12 };
    for (size_t p = 0; p < k; p++, a += a_col, to += MR) {
        for (size_t i = 0; i < strips; i += 2)
            __builtin_prefetch(a + AHEAD * a_col + i * MR);
        for (size_t i = 0; i < strips; i++) {
            vst1q_f32(to + i * MR * k, vld1q_f32(a + i * MR));
            vst1q_f32(to + i * MR * k + 4, vld1q_f32(a + i * MR + 4));
        }
    }
}

#include "kernel/gemm_f32/neon_row.h"

#include "kernel/gemm_f32/neon_half.h"

#ifndef RUN
#define RUN run
#endif

/* A sum with a bias that is not -0 is never -0, for which alone relu differs from a maximum with
 * +0: one operation less for each vector. */
static void clip_or_run(const gemm *g)
{
    const epilogue *e = g->epilogue;
    if (e == NULL || e->act != TAKT_GEMM_ACT_RELU_MIN || e->residual_last || e->bias == NULL ||
        takt_has_minus_zero(e->bias, g->n)) {
        RUN(g);
        return;
    }
    epilogue clip = *e;
    gemm same = *g;
    clip.act = TAKT_GEMM_ACT_CLIP;
    clip.lo = 0;
    same.epilogue = &clip;
    RUN(&same);
}

static const takt_gemm_f32_info info = {MR, {WIDE, NARROW}, scratch_bytes, 0, 0};
