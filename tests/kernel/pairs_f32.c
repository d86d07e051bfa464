/* pairs_f32.c - checks sums of products against the scalar ones: columns, terms, tails. */
#include "kernel/pairs_f32/pairs_f32.h"

#include <string.h>

#include "check.h"

enum { A, B, Y, WANT, COLUMNS_MAX = 20, TERMS_MAX = 12 };

check_fn check_pairs_f32;

static void one(takt_check *c, const takt_kernel *reference, takt_pairs_f32 p, int round)
{
    const int values = (int)check_below(c, CHECK_VALUES), where = round % CHECK_PLACES;
    const float *a[COLUMNS_MAX * TERMS_MAX], *b[TERMS_MAX];
    const size_t out = (p.columns - 1) * p.step + p.channels;
    check_case(c, "channels=%zu columns=%zu terms=%zu step=%zu%s", p.channels, p.columns, p.terms,
               p.step, p.adds ? " adds" : "");
    float *from = check_place(c, A, 4 * p.channels * sizeof *from, where);
    float *by = check_place(c, B, 4 * p.channels * sizeof *by, where);
    check_fill_f32(c, from, 4 * p.channels, values);
    check_fill_f32(c, by, 4 * p.channels, values);
    for (size_t i = 0; i < p.columns * p.terms; i++)
        a[i] = from + check_below(c, 4) * p.channels;
    for (size_t i = 0; i < p.terms; i++)
        b[i] = by + check_below(c, 4) * p.channels;
    p.a = a;
    p.b = b;
    float *want = check_place(c, WANT, out * sizeof *want, CHECK_AT_END);
    float *got = check_place(c, Y, out * sizeof *got, where);
    check_fill_f32(c, want, out, values);
    memcpy(got, want, out * sizeof *got);
    p.y = want;
    takt_kernel_as_pairs_f32(reference)(&p);
    p.y = got;
    CHECK_CALL(c, takt_kernel_as_pairs_f32(c->kernel)(&p));
    check_same_f32(c, got, want, out);
    for (int slot = A; slot <= Y; slot++)
        check_intact(c, slot);
}

/* Nine taps of 256 positions of 64 channels: the weights' gradient of a depthwise convolution. */
static void bench(takt_check *c)
{
    enum { CHANNELS = 64, TERMS = 256, TAPS = 9, ROWS = 300 };
    static const float *a[TAPS * TERMS], *b[TERMS];
    float *x = check_place(c, A, ROWS * CHANNELS * sizeof *x, CHECK_AT_START);
    float *dy = check_place(c, B, TERMS * CHANNELS * sizeof *dy, CHECK_AT_START);
    check_fill_f32(c, x, ROWS * CHANNELS, CHECK_PLAIN);
    check_fill_f32(c, dy, TERMS * CHANNELS, CHECK_PLAIN);
    for (size_t i = 0; i < TAPS * TERMS; i++)
        a[i] = x + (i % TERMS + i / TERMS) * CHANNELS;
    for (size_t i = 0; i < TERMS; i++)
        b[i] = dy + i * CHANNELS;
    const takt_pairs_f32 p = {
        .channels = CHANNELS,
        .columns = TAPS,
        .terms = TERMS,
        .a = a,
        .b = b,
        .y = check_place(c, Y, TAPS * CHANNELS * sizeof(float), CHECK_AT_START),
        .step = CHANNELS};
    CHECK_BENCH(c, "9 taps, 64 channels", 4.0 * ROWS * CHANNELS, 2.0 * TAPS * TERMS * CHANNELS,
                takt_kernel_as_pairs_f32(c->kernel)(&p));
}

void check_pairs_f32(takt_check *c, const takt_kernel *reference)
{
    int round = 0;
    for (size_t n = 1; n <= 70; n++)
        for (size_t columns = 1; columns <= COLUMNS_MAX; columns++, round++) {
            const takt_pairs_f32 p = {.channels = n,
                                      .columns = columns,
                                      .terms = check_below(c, TERMS_MAX + 1),
                                      .step = n + check_below(c, 3),
                                      .adds = round % 3 == 0};
            one(c, reference, p, round);
        }
    bench(c);
}
