/* depthwise_bf16.c - holds depthwise convolutions of bf16 to their bound: geometry, borders, tails.
 */
#include "kernel/depthwise_bf16/depthwise_bf16.h"

#include <math.h>
#include <string.h>

#include "check.h"
#include "kernel/gemm_bf16/gemm_bf16.h"
#include "kernel/product_bf16/round.h"

enum { X, W, Y, BIAS, ZEROS, ROOM, ROWS_MAX = 5 * 17 };

check_fn check_depthwise_bf16;

/* Rows of x that all lines read. */
static size_t rows_of(const takt_depthwise_bf16 *d)
{
    return (d->lines - 1) * d->x_step + d->rows;
}

static void fill(takt_check *c, uint16_t *x, size_t count)
{
    for (size_t i = 0; i < count; i++)
        x[i] = takt_bf16_round((float)check_below(c, 1 << 20) / (1 << 18) - 2);
}

/* One result: within half a unit of bf16 of what is within the bound of the exact sum. */
static bool is_near(const takt_depthwise_bf16 *d, size_t line, size_t q, size_t c, double *want)
{
    double sum = d->bias != NULL ? d->bias[c] : 0, size = fabs(sum);
    for (size_t i = 0; i < d->rows; i++)
        for (size_t j = 0; j < d->taps; j++) {
            const double x =
                (double)widen(takt_depthwise_bf16_at(d, line * d->x_step + i, q, j)[c]) *
                (double)widen(d->w[(i * d->taps + j) * d->channels + c]);
            sum += x;
            size += fabs(x);
        }
    *want = isnan(sum) ? sum : fmin(fmax(sum, d->lo), d->hi);
    const double got = widen(d->y[(line * d->columns + q) * d->channels + c]);
    const double slack = (double)(d->rows * d->taps + 1) / (1 << 23) * size;
    return isnan(*want) ? isnan(got)
                        : got == *want || fabs(got - *want) <= slack + fabs(*want) / 255;
}

static void hold(takt_check *c, const takt_depthwise_bf16 *d)
{
    double want;
    c->cases++;
    for (size_t l = 0; l < d->lines; l++)
        for (size_t q = 0; q < d->columns; q++)
            for (size_t i = 0; i < d->channels; i++)
                if (!is_near(d, l, q, i, &want)) {
                    check_fail(c, "[%zu, %zu, %zu] is %.9g; exactly %.9g", l, q, i,
                               widen(d->y[(l * d->columns + q) * d->channels + i]), want);
                    return;
                }
}

static void one(takt_check *c, takt_depthwise_bf16 d, int round)
{
    const int where = round % CHECK_PLACES;
    const size_t n = d.channels, in = rows_of(&d) * d.width * n, weights = d.rows * d.taps * n;
    const size_t out = d.lines * d.columns * n;
    const uint16_t *rows[ROWS_MAX];
    check_case(c,
               "lines=%zu step %zu channels=%zu columns=%zu width=%zu taps=%zux%zu "
               "stride %zu dilation %zu before %zu",
               d.lines, d.x_step, n, d.columns, d.width, d.rows, d.taps, d.stride, d.dilation,
               d.before);
    uint16_t *x = check_place(c, X, in * sizeof *x, where);
    uint16_t *w = check_place(c, W, weights * sizeof *w, where);
    float *bias = check_place(c, BIAS, n * sizeof *bias, where);
    uint16_t *zeros = check_place(c, ZEROS, n * sizeof *zeros, where);
    fill(c, x, in);
    fill(c, w, weights);
    check_fill_f32(c, bias, n, CHECK_PLAIN);
    memset(zeros, 0, n * sizeof *zeros);
    for (size_t i = 0; round % 4 == 3 && i < in; i += 1 + check_below(c, 50))
        x[i] = check_below(c, 2) ? 0xffff : 0x7f80;
    for (size_t i = 0; i < rows_of(&d); i++)
        rows[i] = check_below(c, 4) == 0 ? NULL : x + i * d.width * n;
    d.x = rows;
    d.w = w;
    d.zeros = zeros;
    d.bias = round % 3 ? bias : NULL;
    d.lo = check_below(c, 2) ? 0 : -INFINITY;
    d.hi = check_below(c, 2) ? 1.5f : INFINITY;
    d.room = check_place(c, ROOM, n * sizeof *d.room, where);
    d.y = check_place(c, Y, out * sizeof *d.y, where);
    memset(d.y, 0x5a, out * sizeof *d.y);
    CHECK_CALL(c, takt_kernel_as_depthwise_bf16(c->kernel)(&d));
    hold(c, &d);
    for (int slot = X; slot <= ROOM; slot++)
        check_intact(c, slot);
}

/* Columns as a convolution would have them, and one more than fit. */
static size_t columns_of(const takt_depthwise_bf16 *d)
{
    const size_t reach = (d->taps - 1) * d->dilation, room = d->width + 2 * d->before;
    return room > reach ? (room - reach - 1) / d->stride + 1 : 1;
}

static void bench(takt_check *c, size_t channels, size_t width, size_t stride)
{
    takt_depthwise_bf16 d = {.lines = 2,
                             .x_step = stride,
                             .channels = channels,
                             .columns = width / stride,
                             .width = width,
                             .rows = 3,
                             .taps = 3,
                             .stride = stride,
                             .dilation = 1,
                             .before = 1,
                             .hi = 6};
    const size_t in = rows_of(&d) * width * channels;
    uint16_t *x = check_place(c, X, in * sizeof *x, CHECK_AT_START);
    uint16_t *w = check_place(c, W, 9 * channels * sizeof *w, CHECK_AT_START);
    uint16_t *zeros = check_place(c, ZEROS, channels * sizeof *zeros, CHECK_AT_START);
    float *bias = check_place(c, BIAS, channels * sizeof *bias, CHECK_AT_START);
    fill(c, x, in);
    fill(c, w, 9 * channels);
    check_fill_f32(c, bias, channels, CHECK_PLAIN);
    memset(zeros, 0, channels * sizeof *zeros);
    const uint16_t *rows[5];
    for (size_t i = 0; i < rows_of(&d); i++)
        rows[i] = x + i * width * channels;
    d.x = rows;
    d.w = w;
    d.zeros = zeros;
    d.bias = bias;
    d.room = check_place(c, ROOM, channels * sizeof *d.room, CHECK_AT_START);
    d.y = check_place(c, Y, d.lines * d.columns * channels * sizeof *d.y, CHECK_AT_START);
    CHECK_BENCH(c, stride == 1 ? "3x3" : "3x3 stride 2", 0,
                18.0 * (double)(d.lines * d.columns * channels),
                takt_kernel_as_depthwise_bf16(c->kernel)(&d));
}

void check_depthwise_bf16(takt_check *c, const takt_kernel *reference)
{
    static const size_t taps[][2] = {{3, 3}, {1, 1}, {5, 5}, {1, 4}, {3, 2}, {3, 3}, {8, 8}};
    int round = 0;
    (void)reference; /* held to exact sums instead */
    for (size_t n = 1; n <= 40; n++)
        for (size_t t = 0; t < sizeof taps / sizeof *taps; t++)
            for (size_t stride = 1; stride <= 3; stride++, round++) {
                takt_depthwise_bf16 d = {.lines = 1 + check_below(c, 5),
                                         .channels = n,
                                         .width = 1 + check_below(c, 23),
                                         .rows = taps[t][0],
                                         .taps = taps[t][1],
                                         .stride = stride,
                                         .dilation = 1 + (round % 5 == 4),
                                         .before = check_below(c, 2) ? 1 : check_below(c, 4)};
                d.x_step = check_below(c, 3) > 0 ? stride : d.rows;
                d.columns = columns_of(&d);
                one(c, d, round);
            }
    bench(c, 96, 56, 1);
    bench(c, 576, 14, 1);
    bench(c, 96, 56, 2);
}
