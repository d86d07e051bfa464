/* convert_any.c - converts between any two element types by way of double or 64-bit integers.
 *
 * Both intermediates hold every value of the types they stand for, so nothing is rounded on the
 * way: the only rounding is the last one. The exception, 64-bit integers to narrow floats, is dealt
 * with in sticky().
 */
#include <math.h>
#include <string.h>

#include "base/half.h"
#include "kernel/convert/convert.h"

typedef enum class { CLASS_F, CLASS_I, CLASS_U, CLASS_B } class;

static const struct {
    int bits;
    class class;
} facts[TAKT_DTYPE_COUNT] = {
#define X(NAME, name, bits, class) {bits, CLASS_##class},
    TAKT_DTYPE_LIST(X)
#undef X
};

static uint64_t load(int bits, const unsigned char *p, size_t i)
{
    uint64_t eight;
    uint32_t four;
    uint16_t two;
    switch (bits) {
    case 64: memcpy(&eight, p + 8 * i, sizeof eight); return eight;
    case 32: memcpy(&four, p + 4 * i, sizeof four); return four;
    case 16: memcpy(&two, p + 2 * i, sizeof two); return two;
    case 8: return p[i];
    default: break;
    }
    const size_t per_byte = 8u / (size_t)bits;
    const unsigned shift = (unsigned)(i % per_byte) * (unsigned)bits;
    return ((unsigned)p[i / per_byte] >> shift) & ((1u << bits) - 1u);
}

/* Sub-byte elements must be stored in ascending order: the first of a byte clears the others. */
static void store(int bits, unsigned char *p, size_t i, uint64_t word)
{
    const uint32_t four = (uint32_t)word;
    const uint16_t two = (uint16_t)word;
    switch (bits) {
    case 64: memcpy(p + 8 * i, &word, sizeof word); return;
    case 32: memcpy(p + 4 * i, &four, sizeof four); return;
    case 16: memcpy(p + 2 * i, &two, sizeof two); return;
    case 8: p[i] = (unsigned char)word; return;
    default: break;
    }
    const size_t per_byte = 8u / (size_t)bits;
    const unsigned shift = (unsigned)(i % per_byte) * (unsigned)bits;
    const unsigned value = ((unsigned)word & ((1u << bits) - 1u)) << shift;
    unsigned char *at = &p[i / per_byte];
    *at = (unsigned char)(shift == 0 ? value : *at | value);
}

static double float_of(takt_dtype from, uint64_t word)
{
    const uint32_t four = (uint32_t)word;
    double f64;
    float f32;
    switch (from) {
    case TAKT_F64: memcpy(&f64, &word, sizeof f64); return f64;
    case TAKT_F32: memcpy(&f32, &four, sizeof f32); return (double)f32;
    case TAKT_F16: return takt_f16_to_f64((uint16_t)word);
    case TAKT_BF16: return takt_bf16_to_f64((uint16_t)word);
    case TAKT_F8E4M3FN: return takt_f8_to_f64(TAKT_E4M3FN, (uint8_t)word);
    case TAKT_F8E4M3FNUZ: return takt_f8_to_f64(TAKT_E4M3FNUZ, (uint8_t)word);
    case TAKT_F8E5M2: return takt_f8_to_f64(TAKT_E5M2, (uint8_t)word);
    case TAKT_F8E5M2FNUZ: return takt_f8_to_f64(TAKT_E5M2FNUZ, (uint8_t)word);
    case TAKT_F8E8M0: return takt_f8_to_f64(TAKT_E8M0, (uint8_t)word);
    default: return takt_f4_to_f64((uint8_t)word);
    }
}

static uint64_t bits_of_float(const takt_convert *c, double value)
{
    const float single = (float)value;
    uint64_t word;
    uint32_t four;
    switch (c->to) {
    case TAKT_F64: memcpy(&word, &value, sizeof word); return word;
    case TAKT_F32: memcpy(&four, &single, sizeof four); return four;
    case TAKT_F16: return takt_f16_from_f64(value);
    case TAKT_BF16: return takt_bf16_from_f64(value);
    case TAKT_F8E4M3FN: return takt_f8_from_f64(TAKT_E4M3FN, value, c->saturate);
    case TAKT_F8E4M3FNUZ: return takt_f8_from_f64(TAKT_E4M3FNUZ, value, c->saturate);
    case TAKT_F8E5M2: return takt_f8_from_f64(TAKT_E5M2, value, c->saturate);
    case TAKT_F8E5M2FNUZ: return takt_f8_from_f64(TAKT_E5M2FNUZ, value, c->saturate);
    case TAKT_F8E8M0: return takt_f8_from_f64(TAKT_E8M0, value, c->saturate);
    default: return takt_f4_from_f64(value);
    }
}

/* An integer in sign-extended 64 bits; a bool as 0 or 1. */
static uint64_t int_of(takt_dtype from, uint64_t word)
{
    const int bits = facts[from].bits;
    if (facts[from].class == CLASS_B)
        return word != 0;
    if (facts[from].class == CLASS_U || bits == 64)
        return word;
    const uint64_t sign = UINT64_C(1) << (bits - 1);
    return (word ^ sign) - sign;
}

/* Float to integer or bool. */
static uint64_t truncated(takt_dtype to, double value)
{
    const int bits = facts[to].bits;
    if (facts[to].class == CLASS_B)
        return value != 0;
    if (value != value)
        return 0;
    if (facts[to].class == CLASS_U) {
        const uint64_t top = UINT64_MAX >> (64 - bits);
        return value <= 0 ? 0 : value >= ldexp(1, bits) ? top : (uint64_t)value;
    }
    const int64_t top = INT64_MAX >> (64 - bits);
    if (value >= ldexp(1, bits - 1))
        return (uint64_t)top;
    return value <= -ldexp(1, bits - 1) ? (uint64_t)(-top - 1) : (uint64_t)(int64_t)value;
}

/* An integer of at most 53 significant bits that every float narrower than double rounds to the
 * same value as `magnitude`: the bits that do not fit are replaced by one that is set if any was.
 */
static uint64_t sticky(uint64_t magnitude)
{
    const uint64_t low = UINT64_C(0x7ff);
    if (magnitude >> 53 == 0)
        return magnitude;
    return (magnitude & ~low) | ((magnitude & low) != 0 ? low + 1 : 0);
}

static double double_of(const takt_convert *c, uint64_t word)
{
    const bool negative = facts[c->from].class == CLASS_I && word >> 63;
    const uint64_t magnitude = negative ? 0 - word : word;
    const double value = (double)(c->to == TAKT_F64 ? magnitude : sticky(magnitude));
    return negative ? -value : value;
}

void takt_convert_any(const takt_convert *c, void *dst, const void *src, size_t n)
{
    const bool from_float = facts[c->from].class == CLASS_F;
    const bool to_float = facts[c->to].class == CLASS_F;
    for (size_t i = 0; i < n; i++) {
        const uint64_t word = load(facts[c->from].bits, src, i);
        uint64_t result;
        if (from_float) {
            const double value = float_of(c->from, word);
            result = to_float ? bits_of_float(c, value) : truncated(c->to, value);
        } else {
            const uint64_t value = int_of(c->from, word);
            const bool is_bool = facts[c->to].class == CLASS_B;
            result = to_float  ? bits_of_float(c, double_of(c, value))
                     : is_bool ? value != 0
                               : value;
        }
        store(facts[c->to].bits, dst, i, result);
    }
}
