/* x86_taps.h - bytes and weights of one tap: of sixteen channels, or of eight, twice. */

INLINE __m128i tap(const uint8_t *const *const x[2], size_t k, size_t c, const bool is_half)
{
    if (!is_half)
        return _mm_loadu_si128((const __m128i *)(const void *)(x[0][k] + c));
    return _mm_unpacklo_epi64(_mm_loadl_epi64((const __m128i *)(const void *)(x[0][k] + c)),
                              _mm_loadl_epi64((const __m128i *)(const void *)(x[1][k] + c)));
}

INLINE __m256i weights(const int16_t *w, const bool is_half)
{
    if (!is_half)
        return _mm256_loadu_si256((const __m256i *)(const void *)w);
    return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)w));
}
