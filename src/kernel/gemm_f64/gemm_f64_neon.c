/* gemm_f64_neon.c - tiles of 8 x 6 and 8 x 4, one row by four distant panels. */
#include "kernel/gemm_f64/gemm_f64.h"

#include <arm_neon.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

typedef double elem;
typedef uint64_t word;
typedef takt_gemm_f64 gemm;
typedef takt_epilogue_f64 epilogue;
enum { WIDE = 6, NARROW = 4, PANELS = 1, MR = 8, QUAD = 2 };
enum { A_BYTES = 512 << 10, B_BYTES = 320 << 10, MASKED = 0 };
enum { STREAMS = 4, FAR_STREAMS = STREAMS, PREFETCH_FAR = 0, PREFETCH_NEAR = 0 };

#include "kernel/gemm_f32/epilogue.inc"

#include "kernel/gemm_f32/blocked.inc"

#include "kernel/gemm_f64/stored.inc"

#include "kernel/gemm_f64/neon_panel.inc"

/* [k][rows, an even number]. */
static size_t strip_elems(size_t rows, size_t k)
{
    return (rows + 1) / 2 * 2 * k;
}

/* Two rows by two k are transposed; with an odd number of rows the last is repeated: its results
 * are never used. */
static inline __attribute__((always_inline)) void pack_pairs(const gemm *g, const double *a,
                                                             size_t rows, size_t k, double *to)
{
    const size_t width = (rows + 1) / 2 * 2;
    size_t p = 0;
    for (; p + 2 <= k; p += 2, to += 2 * width)
        for (size_t r = 0; r < rows; r += 2) {
            const double *even = a + r * g->a_row + p, *odd = r + 1 < rows ? even + g->a_row : even;
            const float64x2_t x = vld1q_f64(even), y = vld1q_f64(odd);
            vst1q_f64(to + r, vzip1q_f64(x, y));
            vst1q_f64(to + width + r, vzip2q_f64(x, y));
        }
    for (size_t r = 0; p < k && r < width; r++)
        to[r] = a[(r < rows ? r : r - 1) * g->a_row + p];
}

static void pack_strip(const gemm *g, const double *a, size_t rows, size_t k, double *to)
{
    const size_t width = (rows + 1) / 2 * 2;
    if (g->a_col != 1) {
        for (size_t p = 0; p < k; p++)
            for (size_t r = 0; r < width; r++)
                to[p * width + r] = a[(r < rows ? r : r - 1) * g->a_row + p * g->a_col];
    } else if (rows == MR) {
        pack_pairs(g, a, MR, k, to);
    } else {
        pack_pairs(g, a, rows, k, to);
    }
}

static bool never_packs(const gemm *g)
{
    (void)g;
    return false;
}

static size_t rows_in_place(const gemm *g)
{
    (void)g;
    return 0;
}

/* ---- one row ---- */

/* `vectors` of B's row, by one lane of A. */
static inline __attribute__((always_inline)) void
fma_row(float64x2_t *s, const double *b, float64x2_t a, const int lane, const size_t vectors)
{
    for (size_t j = 0; j < vectors; j++) {
        const float64x2_t row = vld1q_f64(b + 2 * j);
        s[j] = lane == 0 ? vfmaq_laneq_f64(s[j], row, a, 0) : vfmaq_laneq_f64(s[j], row, a, 1);
    }
}

/* One chunk of `count` panels of two columns times `vectors`. */
static inline __attribute__((always_inline)) void row_fixed(const row_job *r, const size_t count,
                                                            const size_t vectors)
{
    float64x2_t s[4][3];
    const size_t width = 2 * vectors;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < vectors; j++)
            s[i][j] = vdupq_n_f64(0);
    size_t p = 0;
    for (; p + 2 <= r->k; p += 2) {
        const float64x2_t two = vld1q_f64(r->a + p);
        for (size_t i = 0; i < count; i++) {
            const double *b = r->b + i * r->b_step + p * width;
            fma_row(s[i], b, two, 0, vectors);
            fma_row(s[i], b + width, two, 1, vectors);
        }
    }
    if (p < r->k)
        for (size_t i = 0; i < count; i++)
            fma_row(s[i], r->b + i * r->b_step + p * width, vdupq_n_f64(r->a[p]), 0, vectors);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < vectors; j++) {
            double *to = r->c + i * r->c_step + 2 * j;
            vst1q_f64(to, r->adds ? vaddq_f64(vld1q_f64(to), s[i][j]) : s[i][j]);
        }
}

static void row_panels(const row_job *r, size_t count, size_t width)
{
    if (count == 4 && width == WIDE)
        row_fixed(r, 4, WIDE / 2);
    else if (count == 4)
        row_fixed(r, 4, NARROW / 2);
    else if (count == 2 && width == WIDE)
        row_fixed(r, 2, WIDE / 2);
    else if (count == 2)
        row_fixed(r, 2, NARROW / 2);
    else if (width == WIDE)
        row_fixed(r, 1, WIDE / 2);
    else
        row_fixed(r, 1, NARROW / 2);
}

static const takt_gemm_f64_info info = {MR, {WIDE, NARROW}, scratch_bytes, 0, 0};

TAKT_KERNELS(gemm_f64, TAKT_KERNEL(gemm_f64, "neon_8x6", 20, run, &info));
