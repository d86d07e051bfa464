/* gather_sum_f32.c - checks weighted sums of gathered floats against those of the scalar kernel. */
#include "kernel/gather_sum_f32/gather_sum_f32.h"

#include <string.h>

#include "check.h"

enum { X, AT, WEIGHT, INSIDE, RESULT, WANT };

check_fn check_gather_sum_f32;

enum { ELEMENTS = 19 }; /* of x, along the axis */

/* `row` positions of each tap: random, or those of an image enlarged three times.
 */
static void fill_places(takt_check *c, int32_t *at, int32_t *inside, size_t count, size_t row)
{
    const bool is_enlarged = check_random(c) % 2 == 0;
    const size_t first = check_random(c) % ELEMENTS;
    for (size_t i = 0; i < count; i++) {
        const size_t near = (first + i % row / 3) % ELEMENTS;
        at[i] = (int32_t)(is_enlarged ? near : check_random(c) % ELEMENTS);
        inside[i] = check_random(c) % 3 == 0 ? 0 : -1;
    }
}

static void one(takt_check *c, const takt_kernel *reference, takt_gather_sum_f32 g, bool is_masked,
                int where, int values)
{
    const size_t taps = g.taps * g.at_tap,
                 count = (g.planes - 1) * g.x_plane + (ELEMENTS - 1) * g.x_row + g.inner;
    const size_t out =
        g.places > 0 ? (g.planes - 1) * g.y_plane + (g.places - 1) * g.y_row + g.inner : 0;
    check_case(c, "planes=%zu taps=%zu places=%zu inner=%zu masked=%d place %d values %d", g.planes,
               g.taps, g.places, g.inner, is_masked, where, values);
    float *x = check_place(c, X, count * sizeof *x, where);
    int32_t *at = check_place(c, AT, taps * sizeof *at, where);
    float *weight = check_place(c, WEIGHT, g.taps * g.weight_tap * sizeof *weight, where);
    int32_t *inside = check_place(c, INSIDE, taps * sizeof *inside, where);
    float *want = check_place(c, WANT, out * sizeof *want, CHECK_AT_END);
    float *got = check_place(c, RESULT, out * sizeof *got, where);
    check_fill_f32(c, x, count, values);
    check_fill_f32(c, weight, g.taps * g.weight_tap, CHECK_PLAIN);
    fill_places(c, at, inside, taps, g.at_tap > 0 ? g.at_tap : 1);
    g.x = x;
    g.at = at;
    g.weight = weight;
    g.inside = is_masked ? inside : NULL;
    memset(want, 0x5a, out * sizeof *want);
    g.y = want;
    takt_kernel_as_gather_sum_f32(reference)(&g);
    memset(got, 0x5a, out * sizeof *got);
    g.y = got;
    CHECK_CALL(c, takt_kernel_as_gather_sum_f32(c->kernel)(&g));
    check_same_f32(c, got, want, out);
    for (int slot = X; slot <= RESULT; slot++)
        check_intact(c, slot);
}

static void bench(takt_check *c)
{
    enum { PLACES = 1024, WIDE = 64 };
    for (size_t i = 0; i < check_timed(c, 3, 1); i++) {
        const size_t inner = i == 1 ? WIDE : 1, taps = i == 2 ? 4 : 2, places = PLACES / inner;
        takt_gather_sum_f32 g = {.planes = 1,
                                 .size = ELEMENTS,
                                 .taps = taps,
                                 .places = places,
                                 .inner = inner,
                                 .x_row = inner,
                                 .y_row = inner,
                                 .at_tap = places,
                                 .weight_tap = places};
        float *x = check_place(c, X, sizeof(float) * ELEMENTS * inner, CHECK_AT_START);
        float *weight = check_place(c, WEIGHT, sizeof(float) * taps * places, CHECK_AT_START);
        int32_t *at = check_place(c, AT, sizeof *at * taps * places, CHECK_AT_START);
        int32_t *inside = check_place(c, INSIDE, sizeof *at * taps * places, CHECK_AT_START);
        g.y = check_place(c, RESULT, sizeof(float) * PLACES, CHECK_AT_START);
        check_fill_f32(c, x, ELEMENTS * inner, CHECK_PLAIN);
        check_fill_f32(c, weight, taps * places, CHECK_PLAIN);
        fill_places(c, at, inside, taps * places, places);
        g.x = x;
        g.weight = weight;
        g.at = at;
        g.inside = i == 2 ? inside : NULL;
        CHECK_BENCH(c,
                    i == 0   ? "1024 places, two taps"
                    : i == 1 ? "16 places of 64, two taps"
                             : "1024 places, four taps, masked",
                    4.0 * PLACES, 2.0 * (double)taps * PLACES,
                    takt_kernel_as_gather_sum_f32(c->kernel)(&g));
    }
}

void check_gather_sum_f32(takt_check *c, const takt_kernel *reference)
{
    static const size_t inners[] = {1, 2, 3, 5, 8, 19, 37};
    for (size_t i = 0; i < sizeof inners / sizeof *inners; i++)
        for (size_t taps = 1; taps <= 7; taps++)
            for (size_t places = 0; places <= (inners[i] == 1 ? CHECK_TAILS : 3); places++) {
                const size_t inner = inners[i], row = inner + (places + taps) % 3 % 2 * 3;
                const takt_gather_sum_f32 g = {.planes = 1 + places % 3,
                                               .size = ELEMENTS,
                                               .x_plane = ELEMENTS * row + places % 2,
                                               .y_plane = places * row + taps % 2,
                                               .taps = taps,
                                               .places = places,
                                               .inner = inner,
                                               .x_row = row,
                                               .y_row = row,
                                               .at_tap = places + taps % 2,
                                               .weight_tap = places + places % 3};
                one(c, reference, g, (places + taps) % 2 == 1, (int)(places % CHECK_PLACES),
                    (int)((places + taps) % CHECK_VALUES));
            }
    bench(c);
}
