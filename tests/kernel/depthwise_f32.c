/* depthwise_f32.c - checks depthwise convolutions against the scalar one: geometry, borders, tails.
 */
#include "kernel/depthwise_f32/depthwise_f32.h"

#include <string.h>

#include "check_lines.h"

check_fn check_depthwise_f32;

typedef takt_depthwise_f32 depthwise;
typedef float elem;
enum { ZEROS_COUNT = TAKT_DEPTHWISE_ZEROS };
#define AS_DEPTHWISE takt_kernel_as_depthwise_f32
#include "check_depthwise_body.inc"

static void fill_all(takt_check *c, const operands *o, depthwise *d)
{
    (void)d;
    check_fill_f32(c, o->x, o->in, CHECK_PLAIN);
    check_fill_f32(c, o->w, o->weights, CHECK_PLAIN);
}

static void choose_end(takt_check *c, depthwise *d)
{
    const check_end end = check_any_end(c);
    d->relu = end.relu;
    d->clips = end.clips;
    d->lo = end.lo;
    d->limit = end.limit;
}

static void one(takt_check *c, const takt_kernel *reference, depthwise d, int round)
{
    const int values = (int)check_below(c, CHECK_VALUES), where = round % CHECK_PLACES;
    operands o;
    name_case(c, &d);
    place(c, &d, where, &o);
    check_fill_f32(c, o.x, o.in, values);
    check_fill_f32(c, o.w, o.weights, values);
    check_fill_f32(c, o.bias, d.channels, CHECK_PLAIN);
    if (check_below(c, 4) == 0)
        check_minus_zeros(&(check_lines){o.x, o.w, o.bias, o.in, o.weights, d.channels});
    leave_out_rows(c, &d, &o);
    d.bias = check_below(c, 2) ? o.bias : NULL;
    choose_end(c, &d);
    float *want = check_place(c, REST, o.out * sizeof *want, CHECK_AT_END);
    d.y = want;
    AS_DEPTHWISE(reference)(&d);
    d.y = check_place(c, Y, o.out * sizeof *want, where);
    memset(d.y, 0x5a, o.out * sizeof *want);
    CHECK_CALL(c, AS_DEPTHWISE(c->kernel)(&d));
    check_same_f32(c, d.y, want, o.out);
    for (int slot = X; slot <= ZEROS; slot++)
        check_intact(c, slot);
}

void check_depthwise_f32(takt_check *c, const takt_kernel *reference)
{
    static const size_t taps[][2] = {{3, 3}, {1, 1}, {5, 5}, {1, 4}, {3, 2}, {7, 7}, {17, 16}};
    int round = 0;
    for (size_t n = 1; n <= 40; n++)
        for (size_t t = 0; t < sizeof taps / sizeof *taps; t++)
            for (size_t stride = 1; stride <= 3; stride++, round++)
                one(c, reference, some_case(c, n, taps[t], stride, round), round);
    for (size_t n = 100; n <= 700; n += 71) /* weights that do not stay in L1 */
        for (size_t stride = 1; stride <= 2; stride++, round += 5) {
            one(c, reference, some_case(c, n, taps[2], stride, 0), round);
            one(c, reference, some_case(c, n, taps[5], stride, 0), round);
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
