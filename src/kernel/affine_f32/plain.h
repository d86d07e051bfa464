/* plain.h - one element after the other: the scalar kernel, and the tails of the vector ones. */

/* Saturated first, so that adding and taking away 1.5 * 2^23 rounds half to even. */
static inline uint8_t quantised(const takt_affine_f32 *a, float x)
{
    const int32_t lo = a->is_unsigned ? 0 : -128, hi = a->is_unsigned ? 255 : 127;
    const float shift = 0x1.8p23F, low = (float)(lo - a->zero), high = (float)(hi - a->zero);
    const float q = x / a->scale;
    const float known = q == q ? q : 0;
    const float kept = known < low ? low : known > high ? high : known;
    return (uint8_t)((int32_t)((kept + shift) - shift) + a->zero);
}

/* Saturated first; the fraction is exact, so only halves round away from zero. */
static inline uint8_t away(const takt_affine_f32 *a, float q)
{
    const float low = (float)(a->lo - a->zero), high = (float)(a->hi - a->zero);
    const float known = q == q ? q : 0;
    const float kept = known < low ? low : known > high ? high : known;
    const int32_t whole = (int32_t)kept;
    const float rest = kept - (float)whole;
    return (uint8_t)(whole + (rest >= 0.5F) - (rest <= -0.5F) + a->zero);
}

static inline float dequantised(const takt_affine_f32 *a, uint8_t x)
{
    const int32_t value = a->is_unsigned ? x : (int8_t)x;
    return (float)(value - a->zero) * a->scale;
}

/* Elements [from, n). */
static inline void plain(const takt_affine_f32 *a, size_t from)
{
    const uint8_t *bytes = a->x;
    const float *floats = a->x;
    if (a->kind == TAKT_AFFINE_QUANTISE)
        for (size_t i = from; i < a->n; i++)
            ((uint8_t *)a->y)[i] = quantised(a, floats[i]);
    else if (a->kind == TAKT_AFFINE_DEQUANTISE)
        for (size_t i = from; i < a->n; i++)
            ((float *)a->y)[i] = dequantised(a, bytes[i]);
    else if (a->kind == TAKT_AFFINE_AWAY && a->is_product)
        for (size_t i = from; i < a->n; i++)
            ((uint8_t *)a->y)[i] = away(a, floats[i] * a->scale);
    else if (a->kind == TAKT_AFFINE_AWAY)
        for (size_t i = from; i < a->n; i++)
            ((uint8_t *)a->y)[i] = away(a, floats[i] / a->scale);
    else
        for (size_t i = from; i < a->n; i++)
            ((uint8_t *)a->y)[i] = a->table[bytes[i]];
}
