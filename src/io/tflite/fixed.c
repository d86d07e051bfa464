/* fixed.c - fixed-point numbers, rounded as in TensorFlow Lite's kernels. */
#include "io/tflite/fixed.h"

#include <math.h>

double takt_fx_round(double x)
{
    const double whole = trunc(x);
    return fabs(x - whole) >= 0.5 ? whole + (x < 0 ? -1 : 1) : whole;
}

takt_tfl_fixed takt_tfl_fixed_of(double value)
{
    int shift = 0;
    if (value == 0)
        return (takt_tfl_fixed){0, 0};
    if (!isfinite(value)) /* a quotient of floats may overflow */
        return (takt_tfl_fixed){INT32_MAX, 30};
    int64_t fixed = (int64_t)takt_fx_round(frexp(value, &shift) * 2147483648.0);
    if (fixed == INT64_C(1) << 31) {
        fixed /= 2;
        shift++;
    }
    if (shift < -31)
        return (takt_tfl_fixed){0, 0};
    if (shift > 30) /* no result fits: saturated */
        return (takt_tfl_fixed){INT32_MAX, 30};
    return (takt_tfl_fixed){(int32_t)fixed, shift};
}

int64_t takt_fx_divide(int64_t x, int by)
{
    const int64_t mask = (INT64_C(1) << by) - 1;
    return (x >> by) + ((x & mask) > (mask >> 1) + (x < 0));
}

static int64_t least(int bits)
{
    return -(INT64_C(1) << (bits - 1));
}

static int64_t wrapped(int64_t x, int bits)
{
    return bits == 16 ? (int16_t)(uint16_t)x : (int32_t)(uint32_t)x;
}

int64_t takt_fx_mul(int64_t a, int64_t b, int bits)
{
    if (a == least(bits) && b == a)
        return -least(bits) - 1;
    return wrapped((a * b + (INT64_C(1) << (bits - 2))) >> (bits - 1), bits);
}

int32_t takt_tfl_fixed_scale(int32_t x, takt_tfl_fixed f)
{
    const int left = f.shift > 0 ? f.shift : 0, right = f.shift < 0 ? -f.shift : 0;
    const int64_t moved = wrapped((int64_t)((uint64_t)(int64_t)x << left), 32);
    return (int32_t)takt_fx_divide(takt_fx_mul(moved, f.multiplier, 32), right);
}

/* x * 2^by, saturated; or divided, rounded. */
static int64_t power(int64_t x, int by, int bits)
{
    if (by <= 0)
        return takt_fx_divide(x, -by);
    const int64_t most = (INT64_C(1) << (bits - 1 - by)) - 1;
    return x > most    ? -least(bits) - 1
           : x < -most ? least(bits)
                       : wrapped((int64_t)((uint64_t)x << by), bits);
}

/* A 32-bit constant, rounded to the available bits. */
static int64_t constant(int64_t value, int bits)
{
    return takt_fx_divide(value, 32 - bits);
}

/* 16-bit sums saturate where they do in gemmlowp. */
static int64_t saturated(int64_t x, int bits)
{
    const int64_t low = least(bits), high = -low - 1;
    return bits == 32 ? wrapped(x, 32) : x < low ? low : x > high ? high : x;
}

/* e^a of a number without integer bits from -1/4 to 0: four terms around -1/8. */
static int64_t exp_quarter(int64_t a, int bits)
{
    const int64_t middle = constant(1895147668, bits), third = constant(715827883, bits);
    const int64_t x = wrapped(a + (INT64_C(1) << (bits - 4)), bits);
    const int64_t x2 = takt_fx_mul(x, x, bits), x3 = takt_fx_mul(x2, x, bits),
                  x4 = takt_fx_mul(x2, x2, bits);
    const int64_t upper = wrapped(takt_fx_divide(x4, 2) + x3, bits);
    const int64_t rest = takt_fx_divide(wrapped(takt_fx_mul(upper, third, bits) + x2, bits), 1);
    const int64_t sum = wrapped(x + rest, bits);
    return saturated(middle + takt_fx_mul(middle, sum, bits), bits);
}

int64_t takt_fx_exp(int64_t a, int integer, int bits)
{
    /* e^-(2^k) from k = -2 on */
    static const int64_t factors[] = {1672461947, 1302514674, 790015084, 290630308,
                                      39332535,   720401,     242};
    const int fraction = bits - 1 - integer;
    const int64_t quarter = INT64_C(1) << (fraction - 2);
    const int64_t part = wrapped((a & (quarter - 1)) - quarter, bits);
    if (a == 0)
        return -least(bits) - 1;
    int64_t result = exp_quarter(power(part, integer, bits), bits);
    const int64_t rest = wrapped(part - a, bits);
    for (int k = -2; k < integer && k <= 4; k++)
        if (rest & (INT64_C(1) << (fraction + k)))
            result = takt_fx_mul(result, constant(factors[k + 2], bits), bits);
    if (integer > 5 && a < constant(-(INT64_C(1) << (36 - integer)), bits))
        return 0;
    return result;
}

/* The quotient 2 / (1 + a) with two integer bits, by Newton's method. */
static int64_t newton(int64_t a, int bits)
{
    const int64_t one = -least(bits) - 1, one_2 = INT64_C(1) << (bits - 3);
    const int64_t sum = a + one, half = (sum + (sum >= 0 ? 1 : -1)) / 2;
    int64_t x = wrapped(
        constant(1515870810, bits) + takt_fx_mul(half, constant(-1010580540, bits), bits), bits);
    for (int i = 0; i < 3; i++) {
        const int64_t error = wrapped(one_2 - takt_fx_mul(half, x, bits), bits);
        x = wrapped(x + power(takt_fx_mul(x, error, bits), 2, bits), bits);
    }
    return x;
}

int64_t takt_fx_reciprocal(int64_t a, int bits)
{
    return power(newton(a, bits), 1, bits);
}

/* Newton's method for 1 / sqrt(a) with three integer bits, where a is x / 4^n from 1/2 to 2. */
takt_tfl_fixed takt_fx_inverse_root(int32_t x)
{
    enum { ROUNDS = 5, MOST = 29, THREE_HALVES = 3 << 27, HALF_SQRT_2 = 1518500250 };
    if (x <= 1)
        return (takt_tfl_fixed){INT32_MAX, 0};
    int pairs = 0;
    for (; x >= 1 << MOST; pairs--)
        x /= 4;
    for (; x < 1 << (MOST - 2); pairs++)
        x *= 4;
    const int64_t half = takt_fx_divide(x >> 1, 1);
    int64_t y = 1 << 28;
    for (int i = 0; i < ROUNDS; i++) {
        const int64_t cube = power(takt_fx_mul(takt_fx_mul(y, y, 32), y, 32), 6, 32);
        const int64_t next = takt_fx_mul(THREE_HALVES, y, 32) - takt_fx_mul(half, cube, 32);
        y = power(wrapped(next, 32), 3, 32);
    }
    const int left = pairs > 11 ? pairs - 11 : 0;
    return (takt_tfl_fixed){(int32_t)(takt_fx_mul(y, HALF_SQRT_2, 32) << left), pairs - left - 11};
}

int64_t takt_fx_logistic(int64_t a, int integer, int bits)
{
    if (a == 0)
        return INT64_C(1) << (bits - 2);
    const int64_t size = a > 0 ? a : wrapped(-a, bits);
    const int64_t y = takt_fx_reciprocal(takt_fx_exp(wrapped(-size, bits), integer, bits), bits);
    return a > 0 ? y : wrapped(-least(bits) - 1 - y, bits);
}

int64_t takt_fx_tanh(int64_t a, int integer, int bits)
{
    if (a == 0)
        return 0;
    const int64_t below = a < 0 ? a : wrapped(-a, bits);
    const int64_t e = takt_fx_exp(below, integer + 1, bits);
    const int64_t y = power(wrapped(newton(e, bits) - (INT64_C(1) << (bits - 3)), bits), 2, bits);
    return a < 0 ? wrapped(-y, bits) : y;
}
