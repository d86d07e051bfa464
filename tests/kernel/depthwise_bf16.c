/* depthwise_bf16.c - checks depthwise convolutions of bf16 against their bound: geometry, borders,
 * tails.
 */
#include "kernel/depthwise_bf16/depthwise_bf16.h"

#include <math.h>
#include <string.h>

#include "check.h"
#include "kernel/gemm_bf16/gemm_bf16.h"
#include "kernel/product_bf16/round.h"

check_fn check_depthwise_bf16;

typedef takt_depthwise_bf16 depthwise;
typedef uint16_t elem;
enum { ZEROS_COUNT = 1 };
#define AS_DEPTHWISE takt_kernel_as_depthwise_bf16
#include "check_depthwise_body.inc"

static void fill(takt_check *c, uint16_t *x, size_t count)
{
    for (size_t i = 0; i < count; i++)
        x[i] = takt_bf16_round((float)check_below(c, 1 << 20) / (1 << 18) - 2);
}

static void fill_all(takt_check *c, const operands *o, depthwise *d)
{
    fill(c, o->x, o->in);
    fill(c, o->w, o->weights);
    check_fill_f32(c, o->bias, d->channels, CHECK_PLAIN);
    d->bias = o->bias;
    d->hi = 6;
    d->room = check_place(c, REST, d->channels * sizeof *d->room, CHECK_AT_START);
}

/* One result: within half a bf16 unit of a value that is within the bound of the exact sum. */
static bool is_near(const depthwise *d, size_t line, size_t q, size_t c, double *want)
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

static void hold(takt_check *c, const depthwise *d)
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

static void one(takt_check *c, depthwise d, int round)
{
    const int where = round % CHECK_PLACES;
    operands o;
    name_case(c, &d);
    place(c, &d, where, &o);
    fill_all(c, &o, &d);
    for (size_t i = 0; round % 4 == 3 && i < o.in; i += 1 + check_below(c, 50))
        o.x[i] = check_below(c, 2) ? 0xffff : 0x7f80;
    leave_out_rows(c, &d, &o);
    d.bias = round % 3 ? o.bias : NULL;
    d.lo = check_below(c, 2) ? 0 : -INFINITY;
    d.hi = check_below(c, 2) ? 1.5f : INFINITY;
    d.room = check_place(c, REST, d.channels * sizeof *d.room, where);
    d.y = check_place(c, Y, o.out * sizeof *d.y, where);
    memset(d.y, 0x5a, o.out * sizeof *d.y);
    CHECK_CALL(c, AS_DEPTHWISE(c->kernel)(&d));
    hold(c, &d);
    for (int slot = X; slot <= REST; slot++)
        check_intact(c, slot);
}

void check_depthwise_bf16(takt_check *c, const takt_kernel *reference)
{
    static const size_t taps[][2] = {{3, 3}, {1, 1}, {5, 5}, {1, 4}, {3, 2}, {3, 3}, {8, 8}};
    int round = 0;
    (void)reference; /* held to exact sums instead */
    for (size_t n = 1; n <= 40; n++)
        for (size_t t = 0; t < sizeof taps / sizeof *taps; t++)
            for (size_t stride = 1; stride <= 3; stride++, round++)
                one(c, some_case(c, n, taps[t], stride, round), round);
    bench(c, 96, 56, 1);
    bench(c, 576, 14, 1);
    bench(c, 96, 56, 2);
}
