/* gemm_f32_neon.c - tiles of 6 x 16, one row by four distant panels. */
#include "kernel/gemm_f32/gemm_f32.h"

#include <arm_neon.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

typedef float elem;
typedef uint32_t word;
typedef takt_gemm_f32 gemm;
typedef takt_epilogue_f32 epilogue;
enum { PANEL = TAKT_P16, PANELS = 1, MR = 6, QUAD = 4, A_BYTES = 512 << 10, SHIFT = 2 };

#include "kernel/gemm_f32/epilogue.h"

#include "kernel/gemm_f32/blocked.h"

#define TS "4s"
#define ES "s"
#define K_STEPS FOUR_STEPS
#define K_REST FOUR_REST

#include "kernel/gemm_f32/neon_float.h"

#include "kernel/gemm_f32/neon_tile.h"

typedef struct sums {
    float32x4_t v[4];
} sums;

static inline __attribute__((always_inline)) void fma_row(sums *s, const float *b, float32x4_t a,
                                                          const int lane)
{
    for (int j = 0; j < 4; j++) {
        const float32x4_t row = vld1q_f32(b + 4 * j);
        s->v[j] = lane == 0   ? vfmaq_laneq_f32(s->v[j], row, a, 0)
                  : lane == 1 ? vfmaq_laneq_f32(s->v[j], row, a, 1)
                  : lane == 2 ? vfmaq_laneq_f32(s->v[j], row, a, 2)
                              : vfmaq_laneq_f32(s->v[j], row, a, 3);
    }
}

static inline __attribute__((always_inline)) void fma_four(sums *s, const float *b, float32x4_t a)
{
    fma_row(s, b, a, 0);
    fma_row(s, b + 16, a, 1);
    fma_row(s, b + 32, a, 2);
    fma_row(s, b + 48, a, 3);
}

/* One chunk of `count` panels. */
static inline __attribute__((always_inline)) void
row_chunk(const float *a, const float *b, size_t b_step, size_t k, sums *s, const size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (int j = 0; j < 4; j++)
            s[i].v[j] = vdupq_n_f32(0);
    size_t p = 0;
    for (; p + 4 <= k; p += 4) {
        const float32x4_t four = vld1q_f32(a + p);
        for (size_t i = 0; i < count; i++)
            fma_four(&s[i], b + i * b_step + p * 16, four);
    }
    for (; p < k; p++) {
        const float32x4_t one = vsetq_lane_f32(a[p], vdupq_n_f32(0), 0);
        for (size_t i = 0; i < count; i++)
            fma_row(&s[i], b + i * b_step + p * 16, one, 0);
    }
}

static inline __attribute__((always_inline)) void row_fixed(const row_job *r, const size_t count)
{
    size_t p = 0;
    do {
        sums s[4];
        const size_t left = r->k - p;
        row_chunk(r->a + p, r->b + p * 16, r->b_step, left < CHUNK ? left : CHUNK, s, count);
        for (size_t i = 0; i < count; i++)
            for (size_t j = 0; j < 4; j++) {
                float *to = r->c + i * r->c_step + 4 * j;
                vst1q_f32(to, p == 0 ? s[i].v[j] : vaddq_f32(vld1q_f32(to), s[i].v[j]));
            }
        p += CHUNK;
    } while (p < r->k);
}

static void row_panels(const row_job *r, size_t count)
{
    if (count == 4)
        row_fixed(r, 4);
    else
        row_fixed(r, 1);
}

static const takt_gemm_f32_info info = {MR, NR, scratch_bytes};

TAKT_KERNELS(gemm_f32, TAKT_KERNEL(gemm_f32, "neon_6x16", 20, run, &info));
