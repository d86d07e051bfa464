/* look_up.h - bytes of a table of sixteen by their places: one for each byte of a vector. */
#ifndef TAKT_KERNEL_SIMD_LOOK_UP_H
#define TAKT_KERNEL_SIMD_LOOK_UP_H

#include "kernel/simd/simd.h"

/* Places are at most 15. */
#if TAKT_SIMD_SET == 2
static inline vi vi_look_up(const int8_t *table, vi places)
{
    return vreinterpretq_s32_s8(vqtbl1q_s8(vld1q_s8(table), vreinterpretq_u8_s32(places)));
}
#elif TAKT_SIMD_SET == 3
static inline vi vi_look_up(const int8_t *table, vi places)
{
    const __m128i all = _mm_loadu_si128((const __m128i *)(const void *)table);
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(all), places);
}
#elif TAKT_SIMD_SET == 4
static inline vi vi_look_up(const int8_t *table, vi places)
{
    const __m128i all = _mm_loadu_si128((const __m128i *)(const void *)table);
    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(all), places);
}
#else
static inline vi vi_look_up(const int8_t *table, vi places)
{
    int8_t bytes[sizeof(vi)], found[sizeof(vi)];
    vi all;
    memcpy(bytes, &places, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++)
        found[i] = table[bytes[i]];
    memcpy(&all, found, sizeof all);
    return all;
}
#endif

#endif
