/* gemm_f64_neon.c - tiles of 6 x 8, one row by four distant panels. */
#include "kernel/gemm_f64/gemm_f64.h"

#include <arm_neon.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

typedef double elem;
typedef uint64_t word;
typedef takt_gemm_f64 gemm;
typedef takt_epilogue_f64 epilogue;
enum { WIDE = 8, NARROW = 8, PANEL = 8, PANELS = 1, MR = 6, QUAD = 2, SHIFT = 3 };
enum { A_BYTES = 512 << 10, B_BYTES = 320 << 10, MASKED = 0 };

#include "kernel/gemm_f32/epilogue.h"

#include "kernel/gemm_f32/blocked.h"

#include "kernel/gemm_f64/stored.h"

#include "kernel/gemm_f32/pack_quads.h"

#define TS "2d"
#define ES "d"
#define K_STEPS TWO_STEPS
#define K_REST TWO_REST

#include "kernel/gemm_f32/neon_float.h"

#include "kernel/gemm_f32/neon_tile.h"

typedef struct sums {
    float64x2_t v[4];
} sums;

static inline __attribute__((always_inline)) void fma_row(sums *s, const double *b, double a)
{
    for (int j = 0; j < 4; j++)
        s->v[j] = vfmaq_n_f64(s->v[j], vld1q_f64(b + 2 * j), a);
}

/* One chunk of `count` panels. */
static inline __attribute__((always_inline)) void
row_chunk(const double *a, const double *b, size_t b_step, size_t k, sums *s, const size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (int j = 0; j < 4; j++)
            s[i].v[j] = vdupq_n_f64(0);
    for (size_t p = 0; p < k; p++)
        for (size_t i = 0; i < count; i++)
            fma_row(&s[i], b + i * b_step + p * PANEL, a[p]);
}

static inline __attribute__((always_inline)) void row_fixed(const row_job *r, const size_t count)
{
    sums s[4];
    row_chunk(r->a, r->b, r->b_step, r->k, s, count);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < 4; j++) {
            double *to = r->c + i * r->c_step + 2 * j;
            vst1q_f64(to, r->adds ? vaddq_f64(vld1q_f64(to), s[i].v[j]) : s[i].v[j]);
        }
}

static void row_panels(const row_job *r, size_t count, size_t width)
{
    (void)width;
    if (count == 4)
        row_fixed(r, 4);
    else
        row_fixed(r, 1);
}

static const takt_gemm_f64_info info = {MR, {WIDE, NARROW}, scratch_bytes};

TAKT_KERNELS(gemm_f64, TAKT_KERNEL(gemm_f64, "neon_6x8", 20, run, &info));
