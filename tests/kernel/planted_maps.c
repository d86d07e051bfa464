/* planted_maps.c - broken element-wise kernels. */
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "planted.h"

#define ARGS                                                                                       \
    void *dst, const void *const *src, const unsigned char *one, size_t n, takt_fault *fault

static float at(const void *const *src, const unsigned char *one, int k, size_t i)
{
    return ((const float *)src[k])[one[k] ? 0 : i];
}

static void add_all(ARGS)
{
    (void)fault;
    for (size_t i = 0; i < n; i++)
        ((float *)dst)[i] = at(src, one, 0, i) + at(src, one, 1, i);
}

static void reads_past_end(ARGS)
{
    if (!one[0])
        (void)((const volatile float *)src[0])[n];
    add_all(dst, src, one, n, fault);
}

static void reads_before_start(ARGS)
{
    (void)((const volatile float *)src[1])[-1];
    add_all(dst, src, one, n, fault);
}

static void writes_past_end(ARGS)
{
    add_all(dst, src, one, n, fault);
    ((volatile float *)dst)[n] = 0;
}

static void writes_before_start(ARGS)
{
    add_all(dst, src, one, n, fault);
    ((volatile float *)dst)[-1] = 0;
}

static void misses_tail(ARGS)
{
    add_all(dst, src, one, n / 4 * 4, fault);
}

static void misses_long_tail(ARGS)
{
    add_all(dst, src, one, n > 64 ? n / 64 * 64 : n, fault);
}

static void swaps_lanes(ARGS)
{
    add_all(dst, src, one, n, fault);
    float *d = dst;
    for (size_t i = 0; i + 4 <= n; i += 4) {
        const float x = d[i + 1];
        d[i + 1] = d[i + 2];
        d[i + 2] = x;
    }
}

static void ignores_single(ARGS)
{
    (void)one;
    add_all(dst, src, (const unsigned char[]){0, 0, 0}, n, fault);
}

static void clears_first(ARGS)
{
    memset(dst, 0, n * sizeof(float));
    add_all(dst, src, one, n, fault);
}

static void leaves_flushing_on(ARGS)
{
    add_all(dst, src, one, n, fault);
#ifdef __aarch64__
    check_set_fp_state(check_fp_state() | 1u << 24);
#else
    check_set_fp_state(check_fp_state() | 1u << 15);
#endif
}

static void leaves_rounding_up(ARGS)
{
    add_all(dst, src, one, n, fault);
#ifdef __aarch64__
    check_set_fp_state(check_fp_state() | 1u << 22);
#else
    check_set_fp_state(check_fp_state() | 1u << 14);
#endif
}

static void crashes(ARGS)
{
    add_all(dst, src, one, n, fault);
    raise(SIGILL);
}

#define UNARY(name, expression)                                                                    \
    static void name(ARGS)                                                                         \
    {                                                                                              \
        (void)fault;                                                                               \
        for (size_t i = 0; i < n; i++) {                                                           \
            const float x = at(src, one, 0, i);                                                    \
            ((float *)dst)[i] = expression;                                                        \
        }                                                                                          \
    }
#define BINARY(name, expression)                                                                   \
    static void name(ARGS)                                                                         \
    {                                                                                              \
        (void)fault;                                                                               \
        for (size_t i = 0; i < n; i++) {                                                           \
            const float x = at(src, one, 0, i), y = at(src, one, 1, i);                            \
            ((float *)dst)[i] = expression;                                                        \
        }                                                                                          \
    }

UNARY(relu_drops_nan, x > 0 ? x : 0)
UNARY(relu_drops_minus_zero, x < 0 || x == 0 ? 0 : x)
UNARY(sqrt_by_inverse, x == 0 ? x : x * (1 / sqrtf(x)))
UNARY(round_half_away, roundf(x))
UNARY(exp_of_libm_flushed, expf(x) < 0x1p-126f ? 0 : expf(x))
BINARY(min_drops_nan, fminf(x, y))
BINARY(max_forgets_signed_zero, x > y || x != x ? x : y == y ? y : x + y)
BINARY(mul_flushes_denormals, fabsf(x *y) < 0x1p-126f ? 0 * (x * y) : x * y)
BINARY(div_by_reciprocal, x *(1 / y))

static void no_fault(ARGS)
{
    (void)fault;
    for (size_t i = 0; i < n; i++) {
        const int32_t x = ((const int32_t *)src[0])[one[0] ? 0 : i];
        const int32_t y = ((const int32_t *)src[1])[one[1] ? 0 : i];
        ((int32_t *)dst)[i] = y == 0 ? 0 : (int32_t)((int64_t)x / y);
    }
}

static void shift_wraps_round(ARGS)
{
    (void)fault;
    for (size_t i = 0; i < n; i++) {
        const uint32_t x = ((const uint32_t *)src[0])[one[0] ? 0 : i];
        const uint32_t y = ((const uint32_t *)src[1])[one[1] ? 0 : i];
        ((uint32_t *)dst)[i] = x << (y & 31);
    }
}

const planted_map planted_maps[] = {
    {"reads past the end", "map_f32", TAKT_MAP_ADD, reads_past_end},
    {"reads before the start", "map_f32", TAKT_MAP_ADD, reads_before_start},
    {"writes past the end", "map_f32", TAKT_MAP_ADD, writes_past_end},
    {"writes before the start", "map_f32", TAKT_MAP_ADD, writes_before_start},
    {"misses the tail", "map_f32", TAKT_MAP_ADD, misses_tail},
    {"misses the tail of long rows", "map_f32", TAKT_MAP_ADD, misses_long_tail},
    {"swaps lanes", "map_f32", TAKT_MAP_ADD, swaps_lanes},
    {"ignores single operands", "map_f32", TAKT_MAP_ADD, ignores_single},
    {"clears dst first", "map_f32", TAKT_MAP_ADD, clears_first},
    {"leaves denormals flushed", "map_f32", TAKT_MAP_ADD, leaves_flushing_on},
    {"leaves another rounding", "map_f32", TAKT_MAP_ADD, leaves_rounding_up},
    {"crashes", "map_f32", TAKT_MAP_ADD, crashes},
    {"relu drops NaN", "map_f32", TAKT_MAP_RELU, relu_drops_nan},
    {"relu drops -0", "map_f32", TAKT_MAP_RELU, relu_drops_minus_zero},
    {"sqrt by its inverse", "map_f32", TAKT_MAP_SQRT, sqrt_by_inverse},
    {"rounds halves away", "map_f32", TAKT_MAP_ROUND, round_half_away},
    {"exp flushes denormals", "map_f32", TAKT_MAP_EXP, exp_of_libm_flushed},
    {"min drops NaN", "map_f32", TAKT_MAP_MIN, min_drops_nan},
    {"max forgets signed zeros", "map_f32", TAKT_MAP_MAX, max_forgets_signed_zero},
    {"mul flushes denormals", "map_f32", TAKT_MAP_MUL, mul_flushes_denormals},
    {"div by reciprocal", "map_f32", TAKT_MAP_DIV, div_by_reciprocal},
    {"zero divisor unnoticed", "map_i32", TAKT_MAP_DIV, no_fault},
    {"shift count wraps", "map_i32", TAKT_MAP_SHL, shift_wraps_round},
};

const size_t planted_map_count = sizeof planted_maps / sizeof *planted_maps;
