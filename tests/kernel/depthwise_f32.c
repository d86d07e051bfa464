/* depthwise_f32.c - holds depthwise convolutions to the scalar one: geometry, borders, tails. */
#include "kernel/depthwise_f32/depthwise_f32.h"

#include <math.h>
#include <string.h>

#include "check.h"

enum { X, W, Y, BIAS, ZEROS, WANT, ROWS_MAX = 5 * 17 };

check_fn check_depthwise_f32;

/* Rows of x that all lines read. */
static size_t rows_of(const takt_depthwise_f32 *d)
{
    return (d->lines - 1) * d->x_step + d->rows;
}

/* Rows of x are parts of one buffer; some are missing. */
static void find_rows(takt_check *c, const takt_depthwise_f32 *d, const float *x,
                      const float **rows)
{
    for (size_t i = 0; i < rows_of(d); i++)
        rows[i] = check_below(c, 4) == 0 ? NULL : x + i * d->width * d->channels;
}

/* Every sum is -0, and some with the bias too. */
static void fill_minus_zeros(float *x, size_t in, float *w, size_t weights, float *bias, size_t n)
{
    for (size_t i = 0; i < in; i++)
        x[i] = 1e-30f;
    for (size_t i = 0; i < weights; i++)
        w[i] = -1e-30f;
    for (size_t i = 0; i < n; i++)
        bias[i] = i % 3 == 0 ? 0.0f : -0.0f;
}

static void one(takt_check *c, const takt_kernel *reference, takt_depthwise_f32 d, int round)
{
    const int values = (int)check_below(c, CHECK_VALUES), where = round % CHECK_PLACES;
    const size_t n = d.channels, in = rows_of(&d) * d.width * n;
    const size_t out = d.lines * d.columns * n;
    const float *rows[ROWS_MAX];
    check_case(c,
               "lines=%zu step %zu channels=%zu columns=%zu width=%zu taps=%zux%zu "
               "stride %zu dilation %zu before %zu",
               d.lines, d.x_step, n, d.columns, d.width, d.rows, d.taps, d.stride, d.dilation,
               d.before);
    float *x = check_place(c, X, in * sizeof *x, where);
    float *w = check_place(c, W, d.rows * d.taps * n * sizeof *w, where);
    float *bias = check_place(c, BIAS, n * sizeof *bias, where);
    float *zeros = check_place(c, ZEROS, TAKT_DEPTHWISE_ZEROS * n * sizeof *zeros, where);
    check_fill_f32(c, x, in, values);
    check_fill_f32(c, w, d.rows * d.taps * n, values);
    check_fill_f32(c, bias, n, CHECK_PLAIN);
    if (check_below(c, 4) == 0)
        fill_minus_zeros(x, in, w, d.rows * d.taps * n, bias, n);
    memset(zeros, 0, TAKT_DEPTHWISE_ZEROS * n * sizeof *zeros);
    find_rows(c, &d, x, rows);
    d.x = rows;
    d.w = w;
    d.zeros = zeros;
    d.bias = check_below(c, 2) ? bias : NULL;
    static const float bounds[] = {-INFINITY, -1.5f, -0.0f, 0.0f, 1.5f, INFINITY};
    const int end = (int)check_below(c, 3);
    d.relu = end == 1;
    d.clips = end == 2;
    d.lo = bounds[check_below(c, 6)];
    d.limit = check_below(c, 2) ? bounds[check_below(c, 6)] : INFINITY;
    float *want = check_place(c, WANT, out * sizeof *want, CHECK_AT_END);
    d.y = want;
    takt_kernel_as_depthwise_f32(reference)(&d);
    d.y = check_place(c, Y, out * sizeof *want, where);
    memset(d.y, 0x5a, out * sizeof *want);
    CHECK_CALL(c, takt_kernel_as_depthwise_f32(c->kernel)(&d));
    check_same_f32(c, d.y, want, out);
    for (int slot = X; slot <= ZEROS; slot++)
        check_intact(c, slot);
}

/* Columns as a convolution would have them, and one more than fit. */
static size_t columns_of(const takt_depthwise_f32 *d)
{
    const size_t reach = (d->taps - 1) * d->dilation, room = d->width + 2 * d->before;
    return room > reach ? (room - reach - 1) / d->stride + 1 : 1;
}

static void bench(takt_check *c, size_t channels, size_t width, size_t stride)
{
    takt_depthwise_f32 d = {.lines = 2,
                            .x_step = stride,
                            .channels = channels,
                            .columns = width / stride,
                            .width = width,
                            .rows = 3,
                            .taps = 3,
                            .stride = stride,
                            .dilation = 1,
                            .before = 1};
    const size_t in = rows_of(&d) * width * channels;
    float *x = check_place(c, X, in * sizeof *x, CHECK_AT_START);
    float *w = check_place(c, W, 9 * channels * sizeof *w, CHECK_AT_START);
    float *zeros =
        check_place(c, ZEROS, TAKT_DEPTHWISE_ZEROS * channels * sizeof *zeros, CHECK_AT_START);
    check_fill_f32(c, x, in, CHECK_PLAIN);
    check_fill_f32(c, w, 9 * channels, CHECK_PLAIN);
    memset(zeros, 0, TAKT_DEPTHWISE_ZEROS * channels * sizeof *zeros);
    const float *rows[5];
    for (size_t i = 0; i < rows_of(&d); i++)
        rows[i] = x + i * width * channels;
    d.x = rows;
    d.w = w;
    d.zeros = zeros;
    d.y = check_place(c, Y, d.lines * d.columns * channels * sizeof *d.y, CHECK_AT_START);
    CHECK_BENCH(c, stride == 1 ? "3x3" : "3x3 stride 2", 0,
                18.0 * (double)(d.lines * d.columns * channels),
                takt_kernel_as_depthwise_f32(c->kernel)(&d));
}

void check_depthwise_f32(takt_check *c, const takt_kernel *reference)
{
    static const size_t taps[][2] = {{3, 3}, {1, 1}, {5, 5}, {1, 4}, {3, 2}, {17, 16}};
    int round = 0;
    for (size_t n = 1; n <= 40; n++)
        for (size_t t = 0; t < sizeof taps / sizeof *taps; t++)
            for (size_t stride = 1; stride <= 3; stride++, round++) {
                takt_depthwise_f32 d = {.lines = 1 + check_below(c, 5),
                                        .channels = n,
                                        .width = 1 + check_below(c, 23),
                                        .rows = taps[t][0],
                                        .taps = taps[t][1],
                                        .stride = stride,
                                        .dilation = 1 + (round % 5 == 4),
                                        .before = check_below(c, 2) ? 1 : check_below(c, 4)};
                d.x_step = check_below(c, 3) > 0 ? stride : d.rows;
                d.columns = columns_of(&d);
                one(c, reference, d, round);
            }
    for (size_t n = 1; n <= 16; n++, round++) { /* long rows of few channels */
        takt_depthwise_f32 d = {
            .channels = n, .width = 70 + n, .rows = 3, .taps = 3, .stride = 1, .dilation = 1};
        d.before = n % 3;
        d.columns = columns_of(&d);
        one(c, reference, d, round);
        one(c, reference, d, round + 1);
    }
    bench(c, 8, 48, 1);
    bench(c, 64, 56, 1);
    bench(c, 64, 56, 2);
}
