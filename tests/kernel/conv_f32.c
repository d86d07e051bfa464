/* conv_f32.c - holds lines of convolutions to the scalar ones: columns, outputs, offsets, ends. */
#include "kernel/conv_f32/conv_f32.h"

#include <math.h>
#include <string.h>

#include "check_lines.h"

check_fn check_conv_f32;

enum { X, W, Y, BIAS, AT, PICK, REST };

typedef struct operands {
    float *x, *w, *bias;
    size_t *at;
    size_t in, weights, out;
} operands;

/* Each column reads a channel of its group of `each`. */
static const int32_t *place_pick(takt_check *c, size_t k, size_t each)
{
    const size_t bytes = k * TAKT_CONV_PANEL * sizeof(int32_t);
    int32_t *pick = check_place(c, PICK, bytes, CHECK_AT_END);
    for (size_t i = 0; i < k; i++)
        for (size_t o = 0; o < TAKT_CONV_PANEL; o++)
            pick[i * TAKT_CONV_PANEL + o] = (int32_t)(o / each * each + i % each);
    return pick;
}

/* Offsets into a few lines, in the order of taps or in any. */
static void place(takt_check *c, takt_conv_f32 *d, int where, operands *o)
{
    d->ld = d->ld == 0 ? d->channels : d->ld;
    const size_t reach = d->k + check_below(c, 9);
    const size_t panels = (d->channels + TAKT_CONV_PANEL - 1) / TAKT_CONV_PANEL;
    o->in = (d->lines - 1) * d->line + (d->columns - 1) * d->step + reach;
    o->in += d->has_room ? TAKT_CONV_ROOM : 0;
    o->weights = panels * TAKT_CONV_PANEL * d->k;
    o->out = (d->lines * d->columns - 1) * d->ld + d->channels;
    o->x = check_place(c, X, o->in * sizeof *o->x, where);
    o->w = check_place(c, W, o->weights * sizeof *o->w, where);
    o->bias = check_place(c, BIAS, d->channels * sizeof *o->bias, where);
    o->at = check_place(c, AT, d->k * sizeof *o->at, CHECK_AT_END);
    const bool in_order = check_below(c, 2) == 0;
    for (size_t i = 0; i < d->k; i++)
        o->at[i] = in_order ? i : check_below(c, reach);
    d->x = o->x;
    d->w = o->w;
    d->at = o->at;
}

static void choose_end(takt_check *c, takt_conv_f32 *d)
{
    const check_end end = check_any_end(c);
    d->relu = end.relu;
    d->clips = end.clips;
    d->lo = end.lo;
    d->limit = end.limit;
    d->adds_zero = check_below(c, 2) == 0;
}

static void one(takt_check *c, const takt_kernel *reference, takt_conv_f32 d, int round)
{
    const int values = (int)check_below(c, CHECK_VALUES), where = round % CHECK_PLACES;
    operands o;
    check_case(c, "lines=%zu columns=%zu channels=%zu k=%zu line %zu step %zu", d.lines, d.columns,
               d.channels, d.k, d.line, d.step);
    place(c, &d, where, &o);
    check_fill_f32(c, o.x, o.in, values);
    check_fill_f32(c, o.w, o.weights, values);
    check_fill_f32(c, o.bias, d.channels, CHECK_PLAIN);
    if (check_below(c, 4) == 0)
        check_minus_zeros(&(check_lines){o.x, o.w, o.bias, o.in, o.weights, d.channels});
    d.bias = check_below(c, 2) ? o.bias : NULL;
    choose_end(c, &d);
    float *want = check_place(c, REST, o.out * sizeof *want, CHECK_AT_END);
    d.y = check_place(c, Y, o.out * sizeof *want, where);
    memset(d.y, 0x5a, o.out * sizeof *want);
    if (d.adds)
        check_fill_f32(c, d.y, o.out, values);
    memcpy(want, d.y, o.out * sizeof *want);
    float *const found = d.y;
    d.y = want;
    takt_kernel_as_conv_f32(reference)(&d);
    d.y = found;
    CHECK_CALL(c, takt_kernel_as_conv_f32(c->kernel)(&d));
    check_same_f32(c, d.y, want, o.out);
    for (int slot = X; slot <= AT; slot++)
        if (slot != Y)
            check_intact(c, slot);
}

static void bench(takt_check *c, const char *name, takt_conv_f32 d)
{
    operands o;
    place(c, &d, CHECK_AT_START, &o);
    for (size_t i = 0; i < d.k; i++)
        o.at[i] = i;
    check_fill_f32(c, o.x, o.in, CHECK_PLAIN);
    check_fill_f32(c, o.w, o.weights, CHECK_PLAIN);
    check_fill_f32(c, o.bias, d.channels, CHECK_PLAIN);
    d.bias = d.relu ? o.bias : NULL;
    d.limit = INFINITY;
    d.y = check_place(c, Y, o.out * sizeof *d.y, CHECK_AT_START);
    CHECK_BENCH(c, name, 0, 2.0 * (double)d.k * (double)(d.lines * d.columns * d.channels),
                takt_kernel_as_conv_f32(c->kernel)(&d));
}

/* Outputs in lanes: long sums of a few channels, of whole and of short lines. */
static void thin(takt_check *c, const takt_kernel *reference)
{
    int round = 0;
    for (size_t n = 4; n <= 9; n++)
        for (size_t columns = 7; columns <= 53; columns += 1 + check_below(c, 5), round++)
            one(c, reference,
                (takt_conv_f32){.lines = 1 + check_below(c, 5),
                                .columns = columns,
                                .channels = n,
                                .k = 63 + check_below(c, 40),
                                .line = check_below(c, 70),
                                .step = 1,
                                .has_room = round % 3 > 0,
                                .adds = round % 2 == 0},
                round);
}

/* Channels of one of some groups: others lie between those of two outputs. */
static void groups(takt_check *c, const takt_kernel *reference)
{
    int round = 0;
    for (size_t n = 1; n <= TAKT_CONV_PANEL; n++)
        for (size_t columns = 1; columns <= 33; columns += 1 + check_below(c, 4), round++)
            one(c, reference,
                (takt_conv_f32){.lines = 1 + check_below(c, 3),
                                .columns = columns,
                                .channels = n,
                                .ld = n + 1 + check_below(c, 40),
                                .k = 1 + check_below(c, 90),
                                .line = check_below(c, 70),
                                .step = round % 4 == 0 ? 1 : n * (1 + check_below(c, 2)),
                                .adds = round % 3 == 0},
                round);
}

/* All columns of some groups: as many as fill a panel, or fewer. */
static void picked(takt_check *c, const takt_kernel *reference)
{
    const takt_conv_f32_info *info = c->kernel->info;
    int round = 0;
    for (size_t n = 1; n <= info->picks; n *= 2)
        for (size_t columns = 1; columns <= 33; columns += 1 + check_below(c, 4), round++) {
            takt_conv_f32 d = {.lines = 1 + check_below(c, 3),
                               .columns = columns,
                               .channels = n * (1 + check_below(c, TAKT_CONV_PANEL / n)),
                               .k = round % 9 == 0 ? TAKT_GEMM_CHUNK : 1 + check_below(c, 90),
                               .line = check_below(c, 70),
                               .step = check_below(c, 40),
                               .has_room = true,
                               .adds = round % 3 == 0};
            d.ld = d.channels + check_below(c, 2) * check_below(c, 40);
            d.pick = place_pick(c, d.k, n);
            one(c, reference, d, round);
            check_intact(c, PICK);
        }
}

/* More than a panel, in tiles of two where vectors are long: inputs in runs and apart, and sums
 * that continue. */
static void wide(takt_check *c, const takt_kernel *reference)
{
    int round = 0;
    for (size_t n = TAKT_CONV_PANEL + 1; n <= 5 * TAKT_CONV_PANEL; n += 1 + check_below(c, 9))
        for (size_t columns = 5; columns <= 31; columns += 1 + check_below(c, 3), round++)
            one(c, reference,
                (takt_conv_f32){.lines = 1 + check_below(c, 3),
                                .columns = columns,
                                .channels = round % 3 ? n : n / TAKT_CONV_PANEL * TAKT_CONV_PANEL,
                                .ld = round % 2 ? n + check_below(c, 40) : 0,
                                .k = 1 + check_below(c, 70),
                                .line = check_below(c, 70),
                                .step = check_below(c, 40),
                                .adds = round % 5 < 2},
                round);
}

static void benches(takt_check *c)
{
    bench(c, "6 of 400",
          (takt_conv_f32){.lines = 12,
                          .columns = 12,
                          .channels = 6,
                          .k = 200,
                          .line = 256,
                          .step = 1,
                          .has_room = true});
    bench(c, "1 of 9, relu",
          (takt_conv_f32){.lines = 28,
                          .columns = 28,
                          .channels = 1,
                          .k = 9,
                          .line = 30,
                          .step = 1,
                          .relu = true});
    bench(c, "4 of 27, relu",
          (takt_conv_f32){.lines = 16,
                          .columns = 32,
                          .channels = 4,
                          .k = 27,
                          .line = 34,
                          .step = 1,
                          .relu = true});
    bench(c, "16 of 72, relu",
          (takt_conv_f32){
              .lines = 14, .columns = 14, .channels = 16, .k = 72, .step = 8, .relu = true});
    bench(c, "10 of 72, relu",
          (takt_conv_f32){
              .lines = 14, .columns = 14, .channels = 10, .k = 72, .step = 8, .relu = true});
    bench(c, "16 of 27",
          (takt_conv_f32){.lines = 3, .columns = 160, .channels = 16, .k = 27, .step = 6});
    bench(c, "16 of 27, step 2",
          (takt_conv_f32){.lines = 3, .columns = 160, .channels = 16, .k = 27, .step = 2});
    bench(c, "16 of 200",
          (takt_conv_f32){.lines = 14, .columns = 14, .channels = 16, .k = 200, .step = 8});
    bench(c, "32 of 27, relu",
          (takt_conv_f32){
              .lines = 2, .columns = 112, .channels = 32, .k = 27, .step = 6, .relu = true});
    bench(c, "32 of 256",
          (takt_conv_f32){.lines = 2, .columns = 56, .channels = 32, .k = 256, .step = 32});
    bench(c, "64 of 256, step 64",
          (takt_conv_f32){.lines = 2, .columns = 28, .channels = 64, .k = 256, .step = 64});
    bench(c, "16 of 144",
          (takt_conv_f32){
              .lines = 14, .columns = 14, .channels = 16, .ld = 64, .k = 144, .step = 16});
}

void check_conv_f32(takt_check *c, const takt_kernel *reference)
{
    int round = 0;
    for (size_t columns = 1; columns <= 40; columns++)
        for (size_t n = 1; n <= 40; n += 1 + check_below(c, 3), round++) {
            takt_conv_f32 d = {.lines = 1 + check_below(c, 3),
                               .columns = columns,
                               .channels = n,
                               .k = round % 9 == 0 ? TAKT_GEMM_CHUNK : 1 + check_below(c, 30),
                               .line = check_below(c, 70),
                               .step = check_below(c, 9)};
            one(c, reference, d, round);
        }
    const uint64_t digest = c->digest; /* the recorded ones are of the cases above */
    for (size_t n = 1; n <= TAKT_CONV_PANEL; n++)
        one(c, reference,
            (takt_conv_f32){.lines = 2,
                            .columns = 3 + 2 * n,
                            .channels = n,
                            .k = 1 + check_below(c, 30),
                            .line = check_below(c, 70),
                            .step = check_below(c, 9),
                            .adds = true},
            round++);
    thin(c, reference);
    groups(c, reference);
    wide(c, reference);
    picked(c, reference);
    c->digest = digest;
    benches(c);
}
