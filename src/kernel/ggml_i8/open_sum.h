/* open_sum.h - sums of products of opened levels and bytes, in integers.
 *
 *     open_sum      lanes whose sum is what has been added
 *     open_add      32 weights by 32 bytes: scale[i] * sum of level * byte of each sixteen
 *     open_by       a scale as open_add_by takes it: for sixteen weights
 *     open_fours    64 weights by bytes: a lane for each sixteen, of which half are in each of two
 *                   vectors, 0 and 1 or 2 and 3, next to half of its neighbour
 */
#ifndef TAKT_KERNEL_GGML_I8_OPEN_SUM_H
#define TAKT_KERNEL_GGML_I8_OPEN_SUM_H

#include "kernel/ggml_i8/open.h"

typedef float open_f32 __attribute__((vector_size(16)));

#if TAKT_SIMD_SET == 2

typedef int32x4_t open_sum;
typedef int32x4_t open_i32;

FIXED open_sum open_zero(void)
{
    return vdupq_n_s32(0);
}

FIXED open_sum open_both(open_sum x, open_sum y)
{
    return vaddq_s32(x, y);
}

FIXED open_sum open_add(open_sum sum, const open_part *o, const int8_t *q, const int scales)
{
    const int8x16_t x = (int8x16_t)o->level[0], y = (int8x16_t)o->level[1];
    if (scales == 0)
        return vdotq_s32(vdotq_s32(sum, x, vld1q_s8(q)), y, vld1q_s8(q + 16));
    const int32x4_t first = vdotq_s32(vdupq_n_s32(0), x, vld1q_s8(q));
    if (scales == 1)
        return vmlaq_n_s32(sum, vdotq_s32(first, y, vld1q_s8(q + 16)), o->scale[0]);
    const int32x4_t second = vdotq_s32(vdupq_n_s32(0), y, vld1q_s8(q + 16));
    return vmlaq_n_s32(vmlaq_n_s32(sum, first, o->scale[0]), second, o->scale[1]);
}

FIXED int32_t open_total(open_sum sum)
{
    return vaddvq_s32(sum);
}

typedef int32x4_t open_by;

FIXED open_by open_by_of(int scale)
{
    return vdupq_n_s32(scale);
}

FIXED open_sum open_add_by(open_sum sum, const int8_t *level, const open_by *by, const int8_t *q)
{
    const int32x4_t zero = vdupq_n_s32(0);
    const int32x4_t first = vdotq_s32(zero, vld1q_s8(level), vld1q_s8(q));
    const int32x4_t second = vdotq_s32(zero, vld1q_s8(level + 16), vld1q_s8(q + 16));
    return vmlaq_s32(vmlaq_s32(sum, first, by[0]), second, by[1]);
}

FIXED open_i32 open_fours(const open_i8 *level, const open_i8 *q)
{
    int32x4_t s[2];
    UNROLL for (int i = 0; i < 2; i++)
    {
        const int32x4_t x = vdotq_s32(vdupq_n_s32(0), (int8x16_t)level[2 * i], (int8x16_t)q[2 * i]);
        s[i] = vdotq_s32(x, (int8x16_t)level[2 * i + 1], (int8x16_t)q[2 * i + 1]);
    }
    return vpaddq_s32(s[0], s[1]);
}

FIXED open_i8 open_look_up(const int8_t *table, open_u8 places)
{
    return (open_i8)vqtbl1q_s8(vld1q_s8(table), (uint8x16_t)places);
}

/* Four bytes. */
FIXED open_u32 open_widened(uint32_t word)
{
    return (open_u32)vmovl_u16(vget_low_u16(vmovl_u8(vcreate_u8(word))));
}

FIXED open_f32 open_fma(open_f32 a, open_f32 b, open_f32 c)
{
    return (open_f32)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
}

#else

typedef __m256i open_sum;
typedef int32_t open_i32 __attribute__((vector_size(16)));

FIXED open_sum open_zero(void)
{
    return _mm256_setzero_si256();
}

FIXED open_sum open_both(open_sum x, open_sum y)
{
    return _mm256_add_epi32(x, y);
}

/* Sums of two products: levels are at most 62, so that they stay within 16 bits. */
FIXED __m256i open_twos(open_i8 x, open_i8 y, const int8_t *q)
{
    const __m256i level = _mm256_set_m128i((__m128i)y, (__m128i)x);
    const __m256i bytes = _mm256_loadu_si256((const __m256i *)(const void *)q);
    return _mm256_maddubs_epi16(_mm256_abs_epi8(level), _mm256_sign_epi8(bytes, level));
}

FIXED open_sum open_add(open_sum sum, const open_part *o, const int8_t *q, const int scales)
{
    const __m256i twos = open_twos(o->level[0], o->level[1], q);
    const __m256i by = scales < 2 ? _mm256_set1_epi16((int16_t)(scales == 0 ? 1 : o->scale[0]))
                                  : _mm256_set_m128i(_mm_set1_epi16((int16_t)o->scale[1]),
                                                     _mm_set1_epi16((int16_t)o->scale[0]));
    return _mm256_add_epi32(sum, _mm256_madd_epi16(twos, by));
}

FIXED int32_t open_total(open_sum sum)
{
    __m128i x = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
    x = _mm_add_epi32(x, _mm_shuffle_epi32(x, 0x4e));
    return _mm_cvtsi128_si32(_mm_add_epi32(x, _mm_shuffle_epi32(x, 0xb1)));
}

typedef __m128i open_by;

FIXED open_by open_by_of(int scale)
{
    return _mm_set1_epi16((int16_t)scale);
}

FIXED open_sum open_add_by(open_sum sum, const int8_t *level, const open_by *by, const int8_t *q)
{
    const __m256i x = _mm256_loadu_si256((const __m256i *)(const void *)level);
    const __m256i y = _mm256_loadu_si256((const __m256i *)(const void *)q);
    const __m256i twos = _mm256_maddubs_epi16(_mm256_abs_epi8(x), _mm256_sign_epi8(y, x));
    return _mm256_add_epi32(
        sum, _mm256_madd_epi16(twos, _mm256_loadu_si256((const __m256i *)(const void *)by)));
}

FIXED __m128i open_halves(const open_i8 *level, const open_i8 *q)
{
    const __m256i x = _mm256_set_m128i((__m128i)level[1], (__m128i)level[0]);
    const __m256i y = _mm256_set_m128i((__m128i)q[1], (__m128i)q[0]);
    const __m256i twos = _mm256_maddubs_epi16(_mm256_abs_epi8(x), _mm256_sign_epi8(y, x));
    const __m256i fours = _mm256_madd_epi16(twos, _mm256_set1_epi16(1));
    return _mm_add_epi32(_mm256_castsi256_si128(fours), _mm256_extracti128_si256(fours, 1));
}

FIXED open_i32 open_fours(const open_i8 *level, const open_i8 *q)
{
    return (open_i32)_mm_hadd_epi32(open_halves(level, q), open_halves(level + 2, q + 2));
}

FIXED open_i8 open_look_up(const int8_t *table, open_u8 places)
{
    const __m128i all = _mm_loadu_si128((const __m128i *)(const void *)table);
    return (open_i8)_mm_shuffle_epi8(all, (__m128i)places);
}

FIXED open_u32 open_widened(uint32_t word)
{
    return (open_u32)_mm_cvtepu8_epi32(_mm_cvtsi32_si128((int32_t)word));
}

FIXED open_f32 open_fma(open_f32 a, open_f32 b, open_f32 c)
{
    return (open_f32)_mm_fmadd_ps((__m128)a, (__m128)b, (__m128)c);
}

#endif

#endif
