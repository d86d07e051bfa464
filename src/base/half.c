/* half.c - narrow floats by bits: one decoder and one rounding encoder for all formats. */
#include "base/half.h"

#include <math.h>
#include <string.h>

/* A format with sign, exponent and mantissa. Codes are without the sign; the finite ones are
 * 0 .. largest, in the order of their values, so that a carry out of the mantissa is right. */
typedef struct format {
    int mantissa_bits, bias;
    uint32_t sign, largest;
    uint32_t infinity; /* its code; 0 if the format has none */
    uint32_t nan;      /* with the sign bit where that is the only NaN; 0 if none */
} format;

static const format f16 = {10, 15, 0x8000, 0x7BFF, 0x7C00, 0x7E00};
static const format bf16 = {7, 127, 0x8000, 0x7F7F, 0x7F80, 0x7FC0};
static const format f4 = {1, 1, 0x8, 0x7, 0, 0};
static const format f8[] = {
    [TAKT_E4M3FN] = {3, 7, 0x80, 0x7E, 0, 0x7F},
    [TAKT_E4M3FNUZ] = {3, 8, 0x80, 0x7F, 0, 0x80},
    [TAKT_E5M2] = {2, 15, 0x80, 0x7B, 0x7C, 0x7E},
    [TAKT_E5M2FNUZ] = {2, 16, 0x80, 0x7F, 0, 0x80},
};

/* 2^e for -1022 <= e <= 1023. */
static double power(int e)
{
    const uint64_t bits = (uint64_t)(e + 1023) << 52;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static double decode(const format *f, uint32_t bits)
{
    const uint32_t code = bits & (f->sign - 1);
    if (code > f->largest || (f->nan == f->sign && bits == f->sign)) {
        if (f->infinity != 0 && code == f->infinity)
            return bits & f->sign ? -HUGE_VAL : HUGE_VAL;
        return NAN;
    }
    const uint32_t one = UINT32_C(1) << f->mantissa_bits;
    const int exponent = (int)(code >> f->mantissa_bits);
    const uint32_t mantissa = (code & (one - 1)) + (exponent != 0 ? one : 0);
    const int e = exponent != 0 ? exponent : 1;
    const double size = mantissa * power(e - f->bias - f->mantissa_bits); /* exact */
    return bits & f->sign ? -size : size;
}

/* The code of |value|, rounded as if the exponent were unbounded; `word` holds its bits. */
static uint64_t round_code(const format *f, uint64_t word)
{
    int e = (int)(word >> 52) - 1023;
    if (e == -1023) /* zero, or a double's denormal: far below any of our formats */
        return 0;
    const uint64_t significand = (word & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52;
    const int least = 1 - f->bias;
    int shift = 52 - f->mantissa_bits;
    if (e < least) {
        shift += least - e;
        e = least;
    }
    if (shift > 53) /* below half of the smallest number */
        return 0;
    const uint64_t half = UINT64_C(1) << (shift - 1), rest = significand & (2 * half - 1);
    uint64_t mantissa = significand >> shift;
    mantissa += rest > half || (rest == half && (mantissa & 1));
    return ((uint64_t)(e + f->bias - 1) << f->mantissa_bits) + mantissa;
}

static uint32_t encode(const format *f, double value, bool saturate)
{
    if (isnan(value))
        return f->nan;
    uint64_t word;
    memcpy(&word, &value, sizeof word);
    const uint32_t sign = word >> 63 ? f->sign : 0;
    const uint64_t size = word & (UINT64_MAX >> 1);
    const uint64_t code = isinf(value) ? UINT64_MAX : round_code(f, size);
    if (code <= f->largest)
        return code == 0 && f->nan == f->sign ? 0
                                              : sign | (uint32_t)code; /* the format has no -0 */
    if (saturate && (!isinf(value) || f->nan != f->sign))
        return sign | f->largest;
    if (f->infinity != 0)
        return sign | f->infinity;
    return f->nan != f->sign ? sign | f->nan : f->nan;
}

double takt_f16_to_f64(uint16_t bits)
{
    return decode(&f16, bits);
}

uint16_t takt_f16_from_f64(double value)
{
    return (uint16_t)encode(&f16, value, false);
}

double takt_bf16_to_f64(uint16_t bits)
{
    return decode(&bf16, bits);
}

uint16_t takt_bf16_from_f64(double value)
{
    return (uint16_t)encode(&bf16, value, false);
}

/* e8m0 has no sign, zero or mantissa: 2^(bits - 127), or NaN. */
static uint8_t scale_from(double value, bool saturate)
{
    if (isnan(value) || value < 0)
        return 0xFF;
    if (value > 0x1.8p127) /* 0xFF would be 2^128 */
        return saturate ? 0xFE : 0xFF;
    if (value < 0x1p-127)
        return 0;
    int e;
    const double m = frexp(value, &e); /* value = m * 2^e, 1/2 <= m < 1 */
    const int low = e - 1 + 127;       /* m = 0.75 is halfway; ties go to the even code */
    const int code = low + (m > 0.75 || (m == 0.75 && (low & 1)));
    return (uint8_t)(code <= 0xFE ? code : saturate ? 0xFE : 0xFF);
}

double takt_f8_to_f64(takt_f8_kind kind, uint8_t bits)
{
    if (kind == TAKT_E8M0)
        return bits == 0xFF ? NAN : power((int)bits - 127);
    return decode(&f8[kind], bits);
}

uint8_t takt_f8_from_f64(takt_f8_kind kind, double value, bool saturate)
{
    if (kind == TAKT_E8M0)
        return scale_from(value, saturate);
    return (uint8_t)encode(&f8[kind], value, saturate);
}

double takt_f4_to_f64(uint8_t bits)
{
    return decode(&f4, bits & 0xFu);
}

uint8_t takt_f4_from_f64(double value)
{
    return (uint8_t)encode(&f4, value, true);
}
