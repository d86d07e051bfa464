/* quantise.h - a row of floats as bytes with a scale and a sum for each block. */
#ifndef TAKT_KERNEL_BLOCK_I8_QUANTISE_H
#define TAKT_KERNEL_BLOCK_I8_QUANTISE_H

#include "kernel/block_i8/block_i8.h"
#include "kernel/simd/simd.h"

/* max |a|; NaN if there is one. */
static inline float block_most(const float *a, size_t n)
{
    vf most = vf_zero();
    float lanes[VF], result;
    size_t i = 0;
    for (; i + VF <= n; i += VF)
        most = vf_max(most, vf_abs(vf_load(a + i)));
    if (i < n)
        most = vf_max(most, vf_abs(vf_load_n(a + i, n - i)));
    vf_store(lanes, most);
    result = lanes[0];
    for (size_t l = 1; l < VF; l++)
        result = result != result || lanes[l] <= result ? result : lanes[l];
    return result;
}

static inline vi block_rounded(vf x, vf by)
{
    return vi_max(vi_min(vi_round(vf_mul(x, by)), vi_set1(127)), vi_set1(-127));
}

/* One block; gives the sum of the bytes. */
static inline int32_t block_bytes(const float *a, size_t n, float inverse, int8_t *q)
{
    const vf by = vf_set1(inverse);
    vi sum = vi_set1(0);
    int32_t lanes[VF], total = 0;
    size_t i = 0;
    for (; i + VF <= n; i += VF) {
        const vi x = block_rounded(vf_load(a + i), by);
        vi_store_u8((uint8_t *)q + i, x);
        sum = vi_add(sum, x);
    }
    vi_store(lanes, sum);
    for (size_t l = 0; l < VF; l++)
        total += lanes[l];
    if (i < n) {
        uint8_t rest[VF];
        vi_store(lanes, block_rounded(vf_load_n(a + i, n - i), by));
        vi_store_u8(rest, vi_load(lanes));
        memcpy(q + i, rest, n - i);
        for (size_t l = 0; l < n - i; l++)
            total += lanes[l];
    }
    return total;
}

#if TAKT_SIMD_SET == 2

/* A block of sixteens: the sum of its bytes; `most` becomes max |a|. */
static inline int32_t block_sixteens(const float *a, size_t n, float *most, int8_t *q)
{
    float32x4_t top[4] = {vf_zero(), vf_zero(), vf_zero(), vf_zero()};
    for (size_t i = 0; i < n; i += 16)
        for (size_t j = 0; j < 4; j++)
            top[j] = vmaxq_f32(top[j], vabsq_f32(vld1q_f32(a + i + 4 * j)));
    *most = vmaxvq_f32(vmaxq_f32(vmaxq_f32(top[0], top[1]), vmaxq_f32(top[2], top[3])));
    const float32x4_t by = vdupq_n_f32(127 / *most);
    int32_t sum = 0;
    for (size_t i = 0; i < n; i += 16) {
        int16x4_t x[4];
        for (size_t j = 0; j < 4; j++)
            x[j] = vqmovn_s32(vcvtnq_s32_f32(vmulq_f32(vld1q_f32(a + i + 4 * j), by)));
        const int8x16_t bytes = vmaxq_s8(
            vcombine_s8(vqmovn_s16(vcombine_s16(x[0], x[1])), vqmovn_s16(vcombine_s16(x[2], x[3]))),
            vdupq_n_s8(-127));
        vst1q_s8(q + i, bytes);
        sum += vaddlvq_s8(bytes);
    }
    return sum;
}

#elif TAKT_SIMD_SET == 4

/* Without their sign, the largest bit patterns are those of NaN. */
static inline int32_t block_sixteens(const float *a, size_t n, float *most, int8_t *q)
{
    const __m512 top = _mm512_set1_ps(127), bottom = _mm512_set1_ps(-127);
    __m512i bits = _mm512_setzero_si512(), sum = bits;
    for (size_t i = 0; i < n; i += 16)
        bits = _mm512_max_epu32(
            bits, _mm512_and_si512(_mm512_loadu_si512(a + i), _mm512_set1_epi32(0x7fffffff)));
    const uint32_t greatest = _mm512_reduce_max_epu32(bits);
    memcpy(most, &greatest, sizeof *most);
    const __m512 by = _mm512_set1_ps(127 / *most);
    for (size_t i = 0; i < n; i += 16) {
        const __m512 x = _mm512_mul_ps(_mm512_loadu_ps(a + i), by);
        const __mmask16 number = _mm512_cmp_ps_mask(x, x, _CMP_ORD_Q);
        const __m512i y =
            _mm512_maskz_cvtps_epi32(number, _mm512_max_ps(bottom, _mm512_min_ps(top, x)));
        vi_store_u8((uint8_t *)q + i, y);
        sum = _mm512_add_epi32(sum, y);
    }
    return _mm512_reduce_add_epi32(sum);
}

#else

static inline int32_t block_sixteens(const float *a, size_t n, float *most, int8_t *q)
{
    *most = block_most(a, n);
    return block_bytes(a, n, 127 / *most, q);
}

#endif

/* One block of any length: the sum of its bytes; `most` becomes max |a|. */
static inline int32_t block_round(const float *a, size_t n, float *most, int8_t *q)
{
    if (n % 16 == 0)
        return block_sixteens(a, n, most, q);
    *most = block_most(a, n);
    return block_bytes(a, n, 127 / *most, q);
}

/* `deep` bytes, zero beyond k; `dx` and `sums` have one element for each block. */
static inline void block_quantise(const takt_blocks *b, const float *a, int8_t *q, float *dx,
                                  int32_t *sums)
{
    const size_t count = takt_blocks_count(b), deep = takt_blocks_deep(b->k);
    memset(q + b->k, 0, deep - b->k);
    for (size_t i = 0; i < count; i++) {
        const size_t first = i * b->block, left = b->k - first;
        const size_t n = left < b->block ? left : b->block;
        float most;
        sums[i] = block_round(a + first, n, &most, q + first);
        dx[i] = most / 127;
    }
}

#endif
