/* depthwise_i8.c - holds depthwise convolutions of bytes to the scalar one: tails, signs,
 * requantisation. */
#include "kernel/depthwise_i8/depthwise_i8.h"

#include <stdio.h>
#include <string.h>

#include "check.h"
#include "kernel/gemm_i8/fixed.h"

enum { X, W, Y, BIAS, SCALE, AT, SPOT, DOT, SUM, FIXED, WIDE, WANT };

enum { MOST = 5, PLACES = 2 * MOST + 2 }; /* positions that share taps; pixels of x */

check_fn check_depthwise_i8;

static size_t result_bytes(const takt_requant *q)
{
    return q->to == TAKT_REQUANT_S8 || q->to == TAKT_REQUANT_U8 ? 1 : 4;
}

/* Up to 5 positions share taps, and lie next to each other or two pixels apart; anywhere in `x`. */
static void point(takt_check *c, const takt_depthwise_i8 *d, const uint8_t *x, const uint8_t **at,
                  takt_depthwise_spot *spots)
{
    const size_t apart = 1 + check_below(c, 2);
    for (size_t p = 0, shared = 0, i = 0; p < d->positions; p++, i++) {
        if (i == shared) {
            shared = 1 + check_below(c, MOST);
            i = 0;
            at += p > 0 ? d->taps : 0;
            for (size_t k = 0; k < d->taps; k++)
                at[k] = x + check_below(c, PLACES - (shared - 1) * apart) * d->channels;
        }
        spots[p] = (takt_depthwise_spot){at, i * apart * d->channels};
    }
}

static void fill_columns(takt_check *c, int32_t *bias, float *scale, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bias[i] = (int32_t)check_below(c, 40000) - 20000;
        scale[i] = (float)check_below(c, 1000) * 1e-5f;
    }
    if (n > 3) { /* what saturates, and what makes NaN of a sum of 0 */
        const uint32_t infinity = 0x7f800000;
        memcpy(&scale[3], &infinity, sizeof infinity);
        scale[2] = 1e30f;
        bias[1] = INT32_MAX;
    }
}

/* Random weights in [-limit, limit]; or the greatest products throughout. */
static void fill_weights(takt_check *c, int16_t *w, size_t n, int limit, bool extreme)
{
    for (size_t i = 0; i < n; i++)
        w[i] = (int16_t)(extreme ? -limit : (int)check_below(c, 2 * (size_t)limit + 1) - limit);
}

/* The weights by fours of taps, and their sums, in slots of their own. */
static void add_dot(takt_check *c, takt_depthwise_i8 *d, int where)
{
    const size_t n = d->channels, bytes = (d->taps + 3) / 4 * 4 * n;
    int8_t *dot = check_place(c, DOT, bytes, where);
    int32_t *sum = check_place(c, SUM, n * sizeof *sum, where);
    memset(dot, 0, bytes);
    memset(sum, 0, n * sizeof *sum);
    for (size_t k = 0; k < d->taps; k++)
        for (size_t i = 0; i < n; i++) {
            dot[(k / 4 * n + i) * 4 + k % 4] = (int8_t)d->w[k * n + i];
            sum[i] += d->w[k * n + i];
        }
    d->w_dot = dot;
    d->w_sum = sum;
}

/* Multipliers and shifts, and wide scales. */
static void fill_other(takt_check *c, int32_t *fixed, double *wide, size_t n, bool goes_right)
{
    for (size_t i = 0; i < n; i++) {
        fixed[i] = (int32_t)(check_below(c, 1 << 30) + (1u << 30));
        fixed[n + i] = i < 16 && goes_right ? -5 : 1 - (int32_t)check_below(c, 14);
        if (i == 17 || i == 21) { /* what wraps */
            fixed[i] = INT32_MIN;
            fixed[n + i] = i == 17 ? 31 : -3;
        }
        wide[i] = i % 3 == 0 ? 0.5 : (double)check_below(c, 1000) * 1e-5;
    }
}

static void one(takt_check *c, const takt_kernel *reference, takt_depthwise_i8 d, unsigned bits)
{
    const size_t n = d.channels;
    const int where = (int)(bits % CHECK_PLACES);
    check_case(c, "positions=%zu taps=%zu channels=%zu bits %#x", d.positions, d.taps, n, bits);
    uint8_t *x = check_place(c, X, PLACES * n, where);
    int16_t *w = check_place(c, W, d.taps * n * sizeof *w, where);
    int32_t *bias = check_place(c, BIAS, n * sizeof *bias, where);
    float *scale = check_place(c, SCALE, n * sizeof *scale, where);
    const uint8_t **at = check_place(c, AT, d.positions * d.taps * sizeof *at, CHECK_AT_END);
    takt_depthwise_spot *spots = check_place(c, SPOT, d.positions * sizeof *spots, CHECK_AT_END);
    check_fill_bytes(c, x, PLACES * n);
    fill_weights(c, w, d.taps * n, bits & 128 ? 128 : 255, (bits & 64) != 0);
    if (bits & 128)
        for (size_t i = 0; i < d.taps * n; i++)
            w[i] = w[i] > 127 ? 127 : w[i];
    fill_columns(c, bias, scale, n);
    if (bits & 64)
        memset(x, bits & 16 ? 255 : 128, PLACES * n);
    point(c, &d, x, at, spots);
    d.spots = spots;
    int32_t *fixed = check_place(c, FIXED, 2 * n * sizeof *fixed, where);
    double *wide = check_place(c, WIDE, n * sizeof *wide, where);
    fill_other(c, fixed, wide, n, (bits & 32) != 0);
    const int32_t least = (bits & 3) == TAKT_REQUANT_U8 ? 0 : -128; /* as zero and lo: a relu's */
    const takt_requant q = {.to = (takt_requant_to)(bits & 3),
                            .bias = bits & 4 ? bias : NULL,
                            .scale = bits & 768 ? NULL : scale,
                            .wide = bits & 512 ? wide : NULL,
                            .multiplier = bits & 256 ? fixed : NULL,
                            .shift = bits & 256 ? fixed + n : NULL,
                            .goes_right = takt_fixed_goes_right(fixed, fixed + n, n),
                            .scale_per_column = (bits & 8) != 0,
                            .zero = bits & 4 ? least : 3,
                            .lo = bits & 16 ? 2 : least,
                            .hi = (bits & 3) == TAKT_REQUANT_U8 ? 255
                                  : bits & 4                    ? 100
                                                                : 127};
    d.w = w;
    if (bits & 128)
        add_dot(c, &d, where);
    d.x_unsigned = (bits & 16) != 0;
    d.requant = &q;
    const size_t bytes = d.positions * n * result_bytes(&q);
    void *want = d.y = check_place(c, WANT, bytes, CHECK_AT_END);
    takt_kernel_as_depthwise_i8(reference)(&d);
    d.y = check_place(c, Y, bytes, where);
    memset(d.y, 0x5a, bytes);
    CHECK_CALL(c, takt_kernel_as_depthwise_i8(c->kernel)(&d));
    if (q.to == TAKT_REQUANT_F32)
        check_same_f32(c, d.y, want, bytes / 4);
    else
        check_same_bytes(c, d.y, want, bytes);
    for (int slot = X; slot <= (bits & 128 ? SUM : SPOT); slot++)
        check_intact(c, slot);
}

static void bench(takt_check *c, size_t channels)
{
    enum { LINES = 16, COLUMNS = 16, TAPS = 9, PIXELS = (LINES + 2) * (COLUMNS + 2) };
    const double ops = 2.0 * TAPS * LINES * COLUMNS * (double)channels;
    const float scale = 1e-4f;
    const takt_requant q = {.to = TAKT_REQUANT_U8, .scale = &scale, .hi = 255};
    takt_depthwise_i8 d = {.positions = LINES * COLUMNS,
                           .taps = TAPS,
                           .channels = channels,
                           .x_unsigned = true,
                           .requant = &q};
    uint8_t *x = check_place(c, X, PIXELS * channels, CHECK_AT_START);
    int16_t *w = check_place(c, W, TAPS * channels * sizeof *w, CHECK_AT_START);
    const uint8_t **at = check_place(c, AT, LINES * TAPS * sizeof *at, CHECK_AT_START);
    takt_depthwise_spot *spots =
        check_place(c, SPOT, LINES * COLUMNS * sizeof *spots, CHECK_AT_START);
    char title[32];
    check_fill_bytes(c, x, PIXELS * channels);
    fill_weights(c, w, TAPS * channels, 127, false);
    for (size_t i = 0; i < LINES * TAPS; i++)
        at[i] = x + ((i / TAPS + i % TAPS / 3) * (COLUMNS + 2) + i % 3) * channels;
    for (size_t p = 0; p < LINES * COLUMNS; p++)
        spots[p] = (takt_depthwise_spot){at + p / COLUMNS * TAPS, p % COLUMNS * channels};
    d.spots = spots;
    d.w = w;
    add_dot(c, &d, CHECK_AT_START);
    d.y = check_place(c, Y, LINES * COLUMNS * channels, CHECK_AT_START);
    snprintf(title, sizeof title, "3x3, %zu channels", channels);
    CHECK_BENCH(c, title, 0, ops, takt_kernel_as_depthwise_i8(c->kernel)(&d));
}

void check_depthwise_i8(takt_check *c, const takt_kernel *reference)
{
    static const size_t taps[] = {9, 0, 1, 2, 3, 4, 5, 25, 49};
    unsigned round = 0;
    for (size_t n = 1; n <= 70; n++)
        for (size_t t = 0; t < sizeof taps / sizeof *taps; t++, round++) {
            const takt_depthwise_i8 d = {
                .positions = check_below(c, 14), .taps = taps[t], .channels = n};
            one(c, reference, d, round * 5 % 256);
        }
    for (unsigned bits = 0; bits < 256; bits++) {
        one(c, reference, (takt_depthwise_i8){.positions = 4, .taps = 9, .channels = 37}, bits);
        one(c, reference, (takt_depthwise_i8){.positions = 2, .taps = 3, .channels = 7}, bits);
        const unsigned to = bits & 3;
        if (to != TAKT_REQUANT_S8 && to != TAKT_REQUANT_U8)
            continue;
        for (size_t n = 8; n <= 37; n += n == 8 ? 3 : 26) {
            const takt_depthwise_i8 d = {.positions = 7, .taps = 9, .channels = n};
            one(c, reference, d, bits + 256);
            one(c, reference, d, bits + 512);
        }
    }
    bench(c, 8);
    bench(c, 24);
    bench(c, 116);
}
