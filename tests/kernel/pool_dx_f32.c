/* pool_dx_f32.c - checks gradients of pools against the scalar ones: geometry, borders, ties,
 * tails. */
#include "kernel/pool_dx_f32/pool_dx_f32.h"

#include <string.h>

#include "check.h"

enum { X, DY, DIVISOR, DX, WANT, ROWS_MAX = 5, COLUMNS = 28 /* of the benchmark */ };

check_fn check_pool_dx_f32;

/* +0 in every element of a window. */
static void clear_windows(const takt_pool_dx_f32 *p, float *const *dx)
{
    for (size_t i = 0; i < p->rows; i++)
        for (size_t k = 0; dx[i] != NULL && k < p->columns * p->taps; k++) {
            const size_t at = k / p->taps * p->stride + k % p->taps * p->dilation - p->before;
            if (at < p->width)
                memset(dx[i] + at * p->step, 0, p->channels * sizeof **dx);
        }
}

static void one(takt_check *c, const takt_kernel *reference, takt_pool_dx_f32 p, int round)
{
    const int values = (int)check_below(c, CHECK_VALUES), where = round % CHECK_PLACES;
    const size_t in = p.rows * p.width * p.step, out = p.columns * p.step;
    const float *rows[ROWS_MAX];
    float *to[ROWS_MAX], *right[ROWS_MAX];
    check_case(
        c,
        "%s%s channels=%zu columns=%zu width=%zu taps=%zux%zu stride %zu dilation %zu before %zu",
        round & 1 ? "average" : "max", p.is_disjoint ? " alone" : "", p.channels, p.columns,
        p.width, p.rows, p.taps, p.stride, p.dilation, p.before);
    float *x = check_place(c, X, in * sizeof *x, where);
    float *dy = check_place(c, DY, out * sizeof *dy, where);
    float *divisor = check_place(c, DIVISOR, p.columns * sizeof *divisor, where);
    float *got = check_place(c, DX, in * sizeof *got, where);
    float *want = check_place(c, WANT, in * sizeof *want, CHECK_AT_END);
    check_fill_f32(c, x, in, values);
    for (size_t i = 0; i < in && round % 3 == 0; i++)
        x[i] = (float)check_below(c, 3); /* ties */
    check_fill_f32(c, dy, out, values);
    check_fill_f32(c, want, in, CHECK_PLAIN);
    memcpy(got, want, in * sizeof *got);
    for (size_t q = 0; q < p.columns; q++)
        divisor[q] = 1 + (float)check_below(c, 9);
    for (size_t i = 0; i < p.rows; i++) {
        const bool is_out = check_below(c, 4) == 0;
        rows[i] = is_out ? NULL : x + i * p.width * p.step;
        to[i] = is_out ? NULL : got + i * p.width * p.step;
        right[i] = is_out ? NULL : want + i * p.width * p.step;
    }
    p.x = rows;
    p.dy = dy;
    p.divisor = round & 1 ? divisor : NULL;
    if (p.is_disjoint) /* elements of a window are written, not read */
        clear_windows(&p, right);
    p.dx = right;
    takt_kernel_as_pool_dx_f32(reference)(&p);
    p.dx = to;
    CHECK_CALL(c, takt_kernel_as_pool_dx_f32(c->kernel)(&p));
    check_same_f32(c, got, want, in);
    for (int slot = X; slot <= DX; slot++)
        check_intact(c, slot);
}

/* Windows of `taps` by `taps` elements, two apart; dx is read only where they overlap, x only to
 * find the largest. */
static void bench_as(takt_check *c, const char *name, size_t taps, bool is_average)
{
    float divisor[COLUMNS];
    for (size_t i = 0; i < COLUMNS; i++)
        divisor[i] = (float)(taps * taps);
    const bool is_disjoint = taps <= 2;
    takt_pool_dx_f32 p = {.channels = 64,
                          .step = 64,
                          .columns = COLUMNS,
                          .width = 54 + taps,
                          .rows = taps,
                          .taps = taps,
                          .stride = 2,
                          .dilation = 1,
                          .is_disjoint = is_disjoint};
    const size_t line = p.width * p.channels, in = taps * line, out = p.columns * p.channels;
    float *x = check_place(c, X, in * sizeof *x, CHECK_AT_START);
    float *dx = check_place(c, DX, in * sizeof *dx, CHECK_AT_START);
    float *dy = check_place(c, DY, out * sizeof *dy, CHECK_AT_START);
    check_fill_f32(c, x, in, CHECK_PLAIN);
    check_fill_f32(c, dy, out, CHECK_PLAIN);
    check_fill_f32(c, dx, in, CHECK_PLAIN);
    const float *rows[3] = {x, x + line, taps > 2 ? x + 2 * line : NULL};
    float *to[3] = {dx, dx + line, taps > 2 ? dx + 2 * line : NULL};
    p.x = rows;
    p.dx = to;
    p.dy = dy;
    p.divisor = is_average ? divisor : NULL;
    const size_t passes = (is_disjoint ? 1u : 2u) + (is_average ? 0u : 1u);
    CHECK_BENCH(c, name, 4.0 * (double)(passes * in + out), 0,
                takt_kernel_as_pool_dx_f32(c->kernel)(&p));
}

static void bench(takt_check *c)
{
    bench_as(c, "max 2x2", 2, false);
    bench_as(c, "max 3x3", 3, false);
    bench_as(c, "average 2x2", 2, true);
    bench_as(c, "average 3x3", 3, true);
}

/* Windows that share nothing, some of them in padding. */
static void alone(takt_check *c, const takt_kernel *reference)
{
    static const size_t taps[][2] = {{2, 2}, {2, 2}, {3, 2}, {1, 1}};
    int round = 0;
    for (size_t n = 1; n <= 40; n++)
        for (size_t t = 0; t < sizeof taps / sizeof *taps; t++, round++) {
            takt_pool_dx_f32 p = {.channels = n,
                                  .step = n + (t == 1 ? 3 : 0),
                                  .columns = 1 + check_below(c, 9),
                                  .rows = taps[t][0],
                                  .taps = taps[t][1],
                                  .stride = 2 + check_below(c, 2),
                                  .dilation = 1,
                                  .before = t == 2 ? 1 : 0,
                                  .is_disjoint = true};
            p.width = (p.columns - 1) * p.stride + p.taps - check_below(c, 2) * p.before;
            one(c, reference, p, round / 4);
        }
}

void check_pool_dx_f32(takt_check *c, const takt_kernel *reference)
{
    static const size_t taps[][2] = {{3, 3}, {1, 1}, {2, 2}, {1, 4}, {5, 3}};
    int round = 0;
    for (size_t n = 1; n <= 70; n++)
        for (size_t t = 0; t < sizeof taps / sizeof *taps; t++)
            for (size_t stride = 1; stride <= 3; stride++, round++) {
                takt_pool_dx_f32 p = {.channels = n,
                                      .step = n + (check_below(c, 2) == 0 ? 5 : 0),
                                      .columns = 1 + check_below(c, 9),
                                      .width = 1 + check_below(c, 15),
                                      .rows = taps[t][0],
                                      .taps = taps[t][1],
                                      .stride = stride,
                                      .dilation = 1 + (round % 5 == 4),
                                      .before = check_below(c, 4)};
                one(c, reference, p, round);
            }
    const uint64_t digest = c->digest; /* the recorded ones are of the cases above */
    alone(c, reference);
    c->digest = digest;
    bench(c);
}
