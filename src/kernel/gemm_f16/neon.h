/* neon.h - f16 products by vectors of eight, shared by the variants with and without fmlal. */
#include "kernel/gemm_f16/gemm_f16.h"

#include <arm_neon.h>
#include <math.h>
#include <string.h>

typedef float elem;
typedef uint32_t word;
typedef takt_epilogue_f32 epilogue;
enum { WIDE = 24, NARROW = 16, MR = 8, COPIES = 1, A_BYTES = 320 << 10 };

#include "kernel/gemm_f32/epilogue.h"

#include "kernel/gemm_f16/blocked.h"

#include "kernel/gemm_f16/neon_tile.h"

#define ALWAYS static inline __attribute__((always_inline))

/* [k][8], or [k][4] for up to four rows. */
static size_t strip_elems(size_t rows, size_t k)
{
    return (rows > 4 ? 8 : 4) * k;
}

static float largest_of(const float *a, size_t k)
{
    float32x4_t most[4] = {vdupq_n_f32(0), vdupq_n_f32(0), vdupq_n_f32(0), vdupq_n_f32(0)};
    size_t p = 0;
    for (; p + 16 <= k; p += 16)
        for (size_t i = 0; i < 4; i++)
            most[i] = vmaxq_f32(most[i], vabsq_f32(vld1q_f32(a + p + 4 * i)));
    for (; p < k; p++)
        most[0] = vmaxq_f32(most[0], vabsq_f32(vld1q_dup_f32(a + p)));
    return vmaxvq_f32(vmaxq_f32(vmaxq_f32(most[0], most[1]), vmaxq_f32(most[2], most[3])));
}

/* Eight floats, times a power of two. */
ALWAYS uint16x8_t eight(const float *a, float factor)
{
    const float32x4_t x = vmulq_n_f32(vld1q_f32(a), factor),
                      y = vmulq_n_f32(vld1q_f32(a + 4), factor);
    return vreinterpretq_u16_f16(vcvt_high_f16_f32(vcvt_f16_f32(x), y));
}

static void round_row(const float *a, size_t k, int exponent, uint16_t *to)
{
    const float factor = takt_f16_power(exponent);
    size_t p = 0;
    for (; p + 8 <= k; p += 8)
        vst1q_u16(to + p, eight(a + p, factor));
    if (p == k)
        return;
    float part[8] = {0};
    for (size_t i = 0; p + i < k; i++) /* clang 14 never ends with a memcpy over the zeros */
        part[i] = a[p + i];
    vst1q_u16(to + p, eight(part, factor));
}

typedef struct octet {
    uint16x8_t v[8];
} octet;

ALWAYS uint16x8_t low(uint32x4_t x, uint32x4_t y)
{
    return vreinterpretq_u16_u64(vtrn1q_u64(vreinterpretq_u64_u32(x), vreinterpretq_u64_u32(y)));
}

ALWAYS uint16x8_t high(uint32x4_t x, uint32x4_t y)
{
    return vreinterpretq_u16_u64(vtrn2q_u64(vreinterpretq_u64_u32(x), vreinterpretq_u64_u32(y)));
}

/* Eight rows of eight, transposed. */
ALWAYS octet turned(const octet *r)
{
    uint32x4_t pair[8], four[8];
    for (int i = 0; i < 8; i += 2) {
        pair[i] = vreinterpretq_u32_u16(vtrn1q_u16(r->v[i], r->v[i + 1]));
        pair[i + 1] = vreinterpretq_u32_u16(vtrn2q_u16(r->v[i], r->v[i + 1]));
    }
    for (int i = 0; i < 8; i += 4)
        for (int j = 0; j < 2; j++) {
            four[i + j] = vtrn1q_u32(pair[i + j], pair[i + j + 2]);
            four[i + j + 2] = vtrn2q_u32(pair[i + j], pair[i + j + 2]);
        }
    return (octet){{low(four[0], four[4]), low(four[1], four[5]), low(four[2], four[6]),
                    low(four[3], four[7]), high(four[0], four[4]), high(four[1], four[5]),
                    high(four[2], four[6]), high(four[3], four[7])}};
}

/* A missing row repeats the first: its results are never used. */
static void by_element(const takt_gemm_f32 *g, const strip *s, size_t first, const float *factor,
                       uint16_t *to)
{
    const size_t width = s->rows > 4 ? 8 : 4;
    for (size_t p = first; p < s->k; p++) {
        float part[8];
        for (size_t r = 0; r < 8; r++)
            part[r] = s->a[(r < s->rows ? r : 0) * g->a_row + p * g->a_col] * factor[r];
        const uint16x8_t all = eight(part, 1);
        if (width == 8)
            vst1q_u16(to + p * 8, all);
        else
            vst1_u16(to + p * 4, vget_low_u16(all));
    }
}

static void pack_strip(const takt_gemm_f32 *g, const strip *s, uint16_t *to)
{
    float factor[8];
    const float *row[8];
    size_t p = 0;
    for (size_t r = 0; r < 8; r++) {
        factor[r] = takt_f16_power(s->exponent[r < s->rows ? r : 0]);
        row[r] = s->a + (r < s->rows ? r : 0) * g->a_row;
    }
    for (; g->a_col == 1 && s->rows > 4 && p + 8 <= s->k; p += 8) {
        octet x;
        for (int r = 0; r < 8; r++)
            x.v[r] = eight(row[r] + p, factor[r]);
        x = turned(&x);
        for (size_t i = 0; i < 8; i++)
            vst1q_u16(to + (p + i) * 8, x.v[i]);
    }
    for (; g->a_col == 1 && s->rows <= 4 && p + 8 <= s->k; p += 8) {
        octet x;
        for (int r = 0; r < 4; r++)
            x.v[r] = x.v[r + 4] = eight(row[r] + p, factor[r]);
        x = turned(&x);
        for (size_t i = 0; i < 8; i++)
            vst1_u16(to + (p + i) * 4, vget_low_u16(x.v[i]));
    }
    by_element(g, s, p, factor, to);
}

#include "kernel/gemm_f16/neon_row.h"

static const takt_gemm_f32_info info = {MR, {WIDE, NARROW}, scratch_bytes, 0, 0};
