/* math_accuracy.c - holds the elementary functions to their error in units of the last place.
 *
 *     math_accuracy                 about 2^20 floats a function, 2^15 doubles, special values
 *     math_accuracy --all [name [part parts]]    all 2^32 floats, or one part of them
 *
 * Floats are compared with libm in double, doubles with libm in long double. For all floats libm is
 * too slow: they are compared with our functions of doubles, whose error is 2^-27 of a float's
 * unit, and with libm every 61st of them and whatever comes near the largest error so far.
 */
#include "test.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/math_f32/math_f32.h"
#include "kernel/math_f64/math_f64.h"

#define NEVER 1e9 /* the error of a result with the wrong sign, of a number for NaN, ... */

typedef struct row_f32 {
    const char *name;
    vf (*run)(vf);
    double (*want)(double);
    vd (*quick)(vd); /* the same in vectors of doubles */
    double limit;
    double below; /* not 0: for x < 0, the largest error over |x|, in units of 2^-24 */
} row_f32;

typedef struct row_f64 {
    const char *name;
    vd (*run)(vd);
    long double (*want)(long double);
    double limit;
} row_f64;

static double sigmoid(double x)
{
    return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x));
}
static long double sigmoidl(long double x)
{
    return x < 0 ? expl(x) / (1 + expl(x)) : 1 / (1 + expl(-x));
}

static double gelu(double x)
{
    return x < -256 ? -0.0 : 0.5 * x * erfc(-x * 0.70710678118654752440);
}
static double gelu_tanh(double x)
{
    const double z = 2 * 0.79788456080286535588 * (x + 0.044715 * x * x * x);
    return x < -256 ? -0.0 : x / (1 + exp(-z));
}

static const row_f32 rows_f32[] = {
    {"exp", exp_f32, exp, exp_f64, 2, 0},
    {"log", log_f32, log, log_f64, 2, 0},
    {"tanh", tanh_f32, tanh, tanh_f64, 2, 0},
    {"erf", erf_f32, erf, erf_f64, 2, 0},
    {"gelu", gelu_f32, gelu, gelu_f64, 2, 1},
    {"gelu_tanh", gelu_tanh_f32, gelu_tanh, gelu_tanh_f64, 3, 2},
    {"sin", sin_f32, sin, sin_f64, 2, 0},
    {"cos", cos_f32, cos, cos_f64, 2, 0},
    {"sigmoid", sigmoid_f32, sigmoid, sigmoid_f64, 2, 0},
    {"exp2", exp2_f32, exp2, exp2_f64, 1, 0},
    {"expm1", expm1_f32, expm1, expm1_f64, 2, 0},
    {"sinh", sinh_f32, sinh, sinh_f64, 1, 0},
    {"cosh", cosh_f32, cosh, cosh_f64, 1, 0},
    {"log2", log2_f32, log2, log2_f64, 1, 0},
    {"log1p", log1p_f32, log1p, log1p_f64, 2, 0},
    {"asinh", asinh_f32, asinh, asinh_f64, 1, 0},
    {"acosh", acosh_f32, acosh, acosh_f64, 1, 0},
    {"atanh", atanh_f32, atanh, atanh_f64, 1, 0},
    {"tan", tan_f32, tan, tan_f64, 1, 0},
    {"atan", atan_f32, atan, atan_f64, 1, 0},
    {"asin", asin_f32, asin, asin_f64, 1, 0},
    {"acos", acos_f32, acos, acos_f64, 1, 0},
};

static const row_f64 rows_f64[] = {
    {"exp", exp_f64, expl, 2},
    {"log", log_f64, logl, 2},
    {"tanh", tanh_f64, tanhl, 2},
    {"erf", erf_f64, erfl, 2},
    {"sin", sin_f64, sinl, 2},
    {"cos", cos_f64, cosl, 2},
    {"sigmoid", sigmoid_f64, sigmoidl, 2},
    {"exp2", exp2_f64, exp2l, 2},
    {"expm1", expm1_f64, expm1l, 2},
    {"sinh", sinh_f64, sinhl, 4},
    {"cosh", cosh_f64, coshl, 4},
    {"log2", log2_f64, log2l, 3},
    {"log1p", log1p_f64, log1pl, 3},
    {"asinh", asinh_f64, asinhl, 4},
    {"acosh", acosh_f64, acoshl, 4},
    {"atanh", atanh_f64, atanhl, 4},
    {"tan", tan_f64, tanl, 3},
    {"atan", atan_f64, atanl, 2},
    {"asin", asin_f64, asinl, 4},
    {"acos", acos_f64, acosl, 4},
};

/* |got - want| in units of the last place of `want` in a format of `digits` bits whose smallest
 * normal number is 2^least. */
static double error_ulp(long double want, double got, int digits, int least)
{
    if (isnan(want) || isnan(got))
        return isnan(want) && isnan(got) ? 0 : NEVER;
    if (!signbit(want) != !signbit(got))
        return NEVER;
    const long double top = ldexpl(1.0L, -least + 2), w = fabsl(want), g = fabsl((long double)got);
    if (isinf(got) || w >= top) /* infinity is correct from half a step below `top` on */
        return (isinf(got) && w >= top * (1 - ldexpl(1.0L, -digits - 1))) ? 0 : NEVER;
    int exponent;
    frexpl(w, &exponent);
    if (w == 0 || exponent - 1 < least)
        exponent = least + 1;
    return (double)(fabsl(g - w) / ldexpl(1.0L, exponent - digits));
}

/* The same for floats, in double throughout: 2^32 times matters. */
static double error_f32(double want, float result)
{
    const double got = (double)result, top = 0x1p128, w = fabs(want);
    uint64_t bits;
    if ((isnan(want) && isnan(got)) || (isinf(want) && want == got))
        return 0;
    if (!(w < top) || isinf(result) || isnan(result) || signbit(want) != signbit(got))
        return error_ulp((long double)want, got, 24, -126);
    if (w < 0x1p-126)
        return fabs(got - want) / 0x1p-149;
    memcpy(&bits, &w, sizeof bits);
    bits = (bits & UINT64_C(0x7ff0000000000000)) - (UINT64_C(23) << 52); /* one ULP, as a double */
    double ulp;
    memcpy(&ulp, &bits, sizeof ulp);
    return fabs(got - want) / ulp;
}

/* 1 is the tolerance of a row. */
static double share(const row_f32 *row, double x, float result, double want)
{
    if (row->below > 0 && x < 0 && !(x < -0x1p100) && signbit(result))
        return fabs((double)result - want) / fmax(-x * 0x1p-24, 0x1p-149) / row->below;
    return error_f32(want, result) / row->limit;
}

static float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static double double_of(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

typedef struct worst_f32 {
    double share;
    float at;
} worst_f32;

static void report(const row_f32 *row, worst_f32 worst, bool print)
{
    const bool is_below = row->below > 0 && worst.at < 0;
    const char *unit = is_below ? "x 2^-24 |x|" : "ULP";
    const double limit = is_below ? row->below : row->limit;
    EXPECT(worst.share <= 1, "%s_f32(%a): %g %s, limit %g", row->name, (double)worst.at,
           worst.share * limit, unit, limit);
    if (print)
        printf("%s_f32 %.3f %s at %a\n", row->name, worst.share * limit, unit, (double)worst.at);
}

static void against_libm(const row_f32 *row, float x, float y, worst_f32 *worst)
{
    const double e = share(row, (double)x, y, row->want((double)x));
    worst->at = e > worst->share ? x : worst->at;
    worst->share = e > worst->share ? e : worst->share;
}

/* Every 4093rd float. */
static void sweep(const row_f32 *row)
{
    const uint64_t stride = 4093;
    worst_f32 worst = {0, 0};
    for (uint64_t first = 0; first < UINT64_C(1) << 32; first += stride * VF) {
        float x[VF], y[VF];
        for (uint64_t i = 0; i < VF; i++)
            x[i] = float_of((uint32_t)(first + i * stride));
        vf_store(y, row->run(vf_load(x)));
        for (int i = 0; i < VF; i++)
            against_libm(row, x[i], y[i], &worst);
    }
    report(row, worst, false);
}

/* Most results are the float nearest to the double, off by at most half a unit. */
static bool is_same(float a, float b)
{
    uint32_t x, y;
    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    return x == y || (isnan(a) && isnan(b));
}

enum { BLOCK = 4096 };

/* Floats from `first` on. */
static void block(const row_f32 *row, uint64_t first, worst_f32 *worst)
{
    static float x[BLOCK], y[BLOCK];
    static double wide[BLOCK], want[BLOCK];
    for (uint64_t i = 0; i < BLOCK; i++) {
        x[i] = float_of((uint32_t)(first + i));
        wide[i] = (double)x[i];
    }
    for (size_t i = 0; i < BLOCK; i += VF)
        vf_store(y + i, row->run(vf_load(x + i)));
    for (size_t i = 0; i < BLOCK; i += VD)
        vd_store(want + i, row->quick(vd_load(wide + i)));
    for (size_t i = 0; i < BLOCK; i++) {
        const bool is_exact = is_same(y[i], (float)want[i]), is_sample = (first + i) % 61 == 0;
        if (is_sample || (!is_exact && share(row, wide[i], y[i], want[i]) > 0.99 * worst->share))
            against_libm(row, x[i], y[i], worst);
    }
}

static void sweep_all(const row_f32 *row, uint64_t part, uint64_t parts)
{
    const uint64_t blocks = (UINT64_C(1) << 32) / BLOCK;
    worst_f32 worst = {0, 0};
    for (uint64_t b = blocks * part / parts; b < blocks * (part + 1) / parts; b++)
        block(row, b * BLOCK, &worst);
    report(row, worst, true);
}

static uint64_t state = 88172645463325252u;

static uint64_t next(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

/* Random bits find the extremes; random numbers of moderate size find the rest. */
static double pick(uint64_t i)
{
    const double unit = (double)(next() >> 11) * 0x1p-53;
    switch (i % 4) {
    case 0: return double_of(next());
    case 1: return (unit - 0.5) * 4;
    case 2: return (unit - 0.5) * 100;
    default: return (unit - 0.5) * 1500;
    }
}

static void sample(const row_f64 *row, uint64_t count)
{
    double worst = 0, at = 0;
    for (uint64_t n = 0; n < count; n += VD) {
        double x[VD], y[VD];
        for (uint64_t i = 0; i < VD; i++)
            x[i] = pick(n / VD + i);
        vd_store(y, row->run(vd_load(x)));
        for (int i = 0; i < VD; i++) {
            const double e = error_ulp(row->want((long double)x[i]), y[i], 53, -1022);
            at = e > worst ? x[i] : at;
            worst = e > worst ? e : worst;
        }
    }
    EXPECT(worst <= row->limit, "%s_f64(%a): %g ULP, limit %g", row->name, at, worst, row->limit);
}

static void floats(void)
{
    for (size_t i = 0; i < sizeof rows_f32 / sizeof *rows_f32; i++)
        sweep(&rows_f32[i]);
}

static void doubles(void)
{
    for (size_t i = 0; i < sizeof rows_f64 / sizeof *rows_f64; i++)
        sample(&rows_f64[i], UINT64_C(1) << 15);
}

static const double specials[] = {0.0,
                                  -0.0,
                                  1.0,
                                  -1.0,
                                  0.5,
                                  -0.5,
                                  2.0,
                                  -2.0,
                                  3.0,
                                  -3.0,
                                  1e-310,
                                  -1e-310,
                                  0x1p-149,
                                  -0x1p-149,
                                  0x1p-126,
                                  0x1p128,
                                  1e300,
                                  -1e300,
                                  (double)INFINITY,
                                  -(double)INFINITY,
                                  (double)NAN};

/* Where a function is exact, infinite or not a number. */
static void special_values(void)
{
    for (size_t s = 0; s < sizeof specials / sizeof *specials; s++) {
        double x[VD], y[VD];
        for (int i = 0; i < VD; i++)
            x[i] = specials[s];
        for (size_t i = 0; i < sizeof rows_f64 / sizeof *rows_f64; i++) {
            const row_f64 *row = &rows_f64[i];
            vd_store(y, row->run(vd_load(x)));
            const double e = error_ulp(row->want((long double)x[0]), y[VD - 1], 53, -1022);
            EXPECT(e <= row->limit, "%s_f64(%g) = %g, %g ULP", row->name, x[0], y[VD - 1], e);
        }
    }
}

static void check_pow(double a, double b, double limit)
{
    double x[VD], y[VD], z[VD];
    float fx[VF], fy[VF], fz[VF];
    for (int i = 0; i < VD; i++)
        x[i] = a, y[i] = b;
    for (int i = 0; i < VF; i++)
        fx[i] = (float)a, fy[i] = (float)b;
    vd_store(z, pow_f64(vd_load(x), vd_load(y)));
    vf_store(fz, pow_f32(vf_load(fx), vf_load(fy)));
    const double e = error_ulp(powl((long double)a, (long double)b), z[0], 53, -1022);
    EXPECT(e <= limit, "pow_f64(%a, %a) = %a: %g ULP", a, b, z[0], e);
    const double f = error_f32(pow((double)fx[0], (double)fy[0]), fz[0]);
    EXPECT(f <= 1, "pow_f32(%a, %a) = %a: %g ULP", (double)fx[0], (double)fy[0], (double)fz[0], f);
}

static void powers(void)
{
    for (size_t i = 0; i < sizeof specials / sizeof *specials; i++)
        for (size_t k = 0; k < sizeof specials / sizeof *specials; k++)
            check_pow(specials[i], specials[k], 2);
    for (int i = 0; i < 20000; i++) {
        const double a = fabs(pick(next())), b = pick(1 + next() % 3);
        check_pow(a, b, 2);
    }
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--all") == 0) {
        const uint64_t part = argc > 4 ? strtoull(argv[3], NULL, 10) : 0;
        const uint64_t parts = argc > 4 ? strtoull(argv[4], NULL, 10) : 1;
        for (size_t i = 0; i < sizeof rows_f32 / sizeof *rows_f32; i++)
            if (argc == 2 || strcmp(argv[2], rows_f32[i].name) == 0)
                sweep_all(&rows_f32[i], part, parts);
        return test_done();
    }
    floats();
    doubles();
    special_values();
    powers();
    return test_done();
}
