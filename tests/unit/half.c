/* half.c - narrow floats: every value in both directions, against an independent formula. */
#include "base/half.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

typedef struct format {
    const char *name;
    int bits, mantissa, bias;
    bool has_infinity, is_fnuz;
    double (*read)(unsigned bits);
    unsigned (*write)(double value);
} format;

static double read_f16(unsigned b)
{
    return takt_f16_to_f64((uint16_t)b);
}
static unsigned write_f16(double v)
{
    return takt_f16_from_f64(v);
}
static double read_bf16(unsigned b)
{
    return takt_bf16_to_f64((uint16_t)b);
}
static unsigned write_bf16(double v)
{
    return takt_bf16_from_f64(v);
}
static double read_e4m3fn(unsigned b)
{
    return takt_f8_to_f64(TAKT_E4M3FN, (uint8_t)b);
}
static unsigned write_e4m3fn(double v)
{
    return takt_f8_from_f64(TAKT_E4M3FN, v, false);
}
static double read_e4m3fnuz(unsigned b)
{
    return takt_f8_to_f64(TAKT_E4M3FNUZ, (uint8_t)b);
}
static unsigned write_e4m3fnuz(double v)
{
    return takt_f8_from_f64(TAKT_E4M3FNUZ, v, false);
}
static double read_e5m2(unsigned b)
{
    return takt_f8_to_f64(TAKT_E5M2, (uint8_t)b);
}
static unsigned write_e5m2(double v)
{
    return takt_f8_from_f64(TAKT_E5M2, v, false);
}
static double read_e5m2fnuz(unsigned b)
{
    return takt_f8_to_f64(TAKT_E5M2FNUZ, (uint8_t)b);
}
static unsigned write_e5m2fnuz(double v)
{
    return takt_f8_from_f64(TAKT_E5M2FNUZ, v, false);
}
static double read_f4(unsigned b)
{
    return takt_f4_to_f64((uint8_t)b);
}
static unsigned write_f4(double v)
{
    return takt_f4_from_f64(v);
}

static const format formats[] = {
    {"f16", 16, 10, 15, true, false, read_f16, write_f16},
    {"bf16", 16, 7, 127, true, false, read_bf16, write_bf16},
    {"e4m3fn", 8, 3, 7, false, false, read_e4m3fn, write_e4m3fn},
    {"e4m3fnuz", 8, 3, 8, false, true, read_e4m3fnuz, write_e4m3fnuz},
    {"e5m2", 8, 2, 15, true, false, read_e5m2, write_e5m2},
    {"e5m2fnuz", 8, 2, 16, false, true, read_e5m2fnuz, write_e5m2fnuz},
    {"f4", 4, 1, 1, false, false, read_f4, write_f4},
};

/* The value by the books, with ldexp. */
static double formula(const format *f, unsigned bits)
{
    const unsigned sign = bits >> (f->bits - 1);
    const int exponent_bits = f->bits - 1 - f->mantissa;
    const int exponent = (int)(bits >> f->mantissa & ((1u << exponent_bits) - 1));
    const unsigned mantissa = bits & ((1u << f->mantissa) - 1);
    const int top = (1 << exponent_bits) - 1;
    if (f->is_fnuz && sign != 0 && exponent == 0 && mantissa == 0)
        return (double)NAN;
    if (f->has_infinity && exponent == top)
        return mantissa != 0 ? (double)NAN : sign ? -(double)INFINITY : (double)INFINITY;
    if (strcmp(f->name, "e4m3fn") == 0 && exponent == top && mantissa == 7)
        return (double)NAN;
    const double fraction = mantissa / (double)(1 << f->mantissa);
    const double size =
        exponent == 0 ? ldexp(fraction, 1 - f->bias) : ldexp(1 + fraction, exponent - f->bias);
    return sign ? -size : size;
}

static bool same(double a, double b)
{
    return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
}

static void every_value(void)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        const format *f = &formats[i];
        for (unsigned bits = 0; bits < 1u << f->bits; bits++) {
            const double want = formula(f, bits), got = f->read(bits);
            EXPECT(same(want, got), "%s %04x: %a, expected %a", f->name, bits, got, want);
            if (isnan(want))
                EXPECT(isnan(f->read(f->write(want))) || f->bits == 4, "%s %04x", f->name, bits);
            else
                EXPECT(f->write(want) == bits, "%s %04x: back %04x", f->name, bits, f->write(want));
        }
    }
}

/* Between neighbours: just below the middle, the middle, just above it, on both sides of zero. */
static void rounding(void)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        const format *f = &formats[i];
        const unsigned sign = 1u << (f->bits - 1);
        for (unsigned low = 0; low + 1 < sign; low++) {
            const double a = f->read(low), b = f->read(low + 1);
            if (!isfinite(a) || !isfinite(b))
                continue;
            const double middle = (a + b) / 2; /* exact */
            const unsigned even = low & 1 ? low + 1 : low;
            EXPECT(f->write(middle) == even, "%s %04x: tie to %04x", f->name, low,
                   f->write(middle));
            EXPECT(f->write(nextafter(middle, 0)) == low, "%s %04x", f->name, low);
            EXPECT(f->write(nextafter(middle, HUGE_VAL)) == low + 1, "%s %04x", f->name, low);
            const unsigned none = f->is_fnuz && even == 0 ? 0 : even | sign;
            EXPECT(f->write(-middle) == none, "%s -%04x: %04x", f->name, low, f->write(-middle));
        }
        EXPECT(f->write(5e-324) == 0 && f->write(0x1p-1022) == 0, "%s", f->name);
    }
}

static void overflow(void)
{
    EXPECT_EQ(takt_f16_from_f64(65519.999), 0x7BFF);
    EXPECT_EQ(takt_f16_from_f64(65520), 0x7C00);
    EXPECT_EQ(takt_f16_from_f64(-1e300), 0xFC00);
    EXPECT_EQ(takt_bf16_from_f64(0x1.FEp127), 0x7F7F);
    EXPECT_EQ(takt_bf16_from_f64(0x1.FFp127), 0x7F80);
    EXPECT_EQ(takt_bf16_from_f64(-(double)INFINITY), 0xFF80);

    static const struct {
        takt_f8_kind kind;
        double largest, beyond; /* the first value that rounds past the largest */
        uint8_t code, plain, infinite, saturated_infinite;
    } rows[] = {
        {TAKT_E4M3FN, 448, 464.0001, 0x7E, 0x7F, 0x7F, 0x7E},
        {TAKT_E4M3FNUZ, 240, 248, 0x7F, 0x80, 0x80, 0x80},
        {TAKT_E5M2, 57344, 61440, 0x7B, 0x7C, 0x7C, 0x7B},
        {TAKT_E5M2FNUZ, 57344, 61440, 0x7F, 0x80, 0x80, 0x80},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const takt_f8_kind k = rows[i].kind;
        const double infinity = (double)INFINITY, below = nextafter(rows[i].beyond, 0);
        EXPECT(takt_f8_to_f64(k, rows[i].code) == rows[i].largest, "kind %d", (int)k);
        EXPECT(takt_f8_from_f64(k, rows[i].beyond, false) == rows[i].plain, "kind %d", (int)k);
        EXPECT(takt_f8_from_f64(k, rows[i].beyond, true) == rows[i].code, "kind %d", (int)k);
        EXPECT(takt_f8_from_f64(k, 1e30, true) == rows[i].code, "kind %d", (int)k);
        EXPECT(takt_f8_from_f64(k, -1e30, true) == (rows[i].code | 0x80), "kind %d", (int)k);
        EXPECT(takt_f8_from_f64(k, infinity, false) == rows[i].infinite, "kind %d", (int)k);
        EXPECT(takt_f8_from_f64(k, infinity, true) == rows[i].saturated_infinite, "kind %d",
               (int)k);
        EXPECT(isnan(takt_f8_to_f64(k, takt_f8_from_f64(k, (double)NAN, true))), "kind %d", (int)k);
        if (k != TAKT_E4M3FN)
            EXPECT(takt_f8_from_f64(k, below, false) == rows[i].code, "kind %d", (int)k);
    }
    EXPECT(takt_f8_from_f64(TAKT_E4M3FN, 464, false) == 0x7E, "a tie goes to the even code");
    EXPECT_EQ(takt_f4_from_f64(1e9), 7);
    EXPECT_EQ(takt_f4_from_f64(-(double)INFINITY), 15);
    EXPECT_EQ(takt_f4_from_f64((double)NAN), 0);
}

static void scales(void)
{
    for (unsigned b = 0; b < 255; b++) {
        const double value = takt_f8_to_f64(TAKT_E8M0, (uint8_t)b);
        EXPECT(value == ldexp(1, (int)b - 127), "%u", b);
        EXPECT(takt_f8_from_f64(TAKT_E8M0, value, false) == b, "%u", b);
        EXPECT(takt_f8_from_f64(TAKT_E8M0, value * 1.49, false) == b, "%u", b);
        const unsigned even = b & 1 ? b + 1 : b;
        EXPECT(takt_f8_from_f64(TAKT_E8M0, value * 1.5, false) == even, "%u", b);
        const unsigned next = b + 1; /* of the largest: 0xFF, which is NaN */
        EXPECT(takt_f8_from_f64(TAKT_E8M0, value * 1.51, false) == next, "%u", b);
    }
    EXPECT(isnan(takt_f8_to_f64(TAKT_E8M0, 0xFF)));
    EXPECT_EQ(takt_f8_from_f64(TAKT_E8M0, 0, false), 0);
    EXPECT_EQ(takt_f8_from_f64(TAKT_E8M0, -1, true), 255);
    EXPECT_EQ(takt_f8_from_f64(TAKT_E8M0, 1e300, true), 254);
    EXPECT_EQ(takt_f8_from_f64(TAKT_E8M0, (double)INFINITY, false), 255);
}

TEST_MAIN(every_value, rounding, overflow, scales)
