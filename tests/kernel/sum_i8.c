/* sum_i8.c - holds sums of bytes to the scalar ones: tails, signs, shifts, what wraps. */
#include "kernel/sum_i8/sum_i8.h"

#include <string.h>

#include "check.h"

enum { A, B, Y, WANT };

check_fn check_sum_i8;

/* Mostly as files have them; at times anything. */
static void fixed(takt_check *c, int32_t *multiplier, int32_t *shift)
{
    const size_t kind = check_below(c, 12);
    *multiplier = (int32_t)(check_below(c, 1 << 30) + (1u << 30));
    *shift = -(int32_t)check_below(c, 20);
    if (kind == 0)
        *multiplier = INT32_MIN;
    if (kind <= 1)
        *shift = (int32_t)check_below(c, 80) - 40;
    if (kind == 2)
        *multiplier = -*multiplier;
}

static int32_t level(takt_check *c, const takt_sum_i8 *s)
{
    return (int32_t)check_below(c, 256) - (s->is_unsigned ? 0 : 128);
}

static takt_sum_i8 random_job(takt_check *c, size_t n, int round)
{
    takt_sum_i8 s = {.n = n, .is_unsigned = round % 2, .is_less = round % 3 == 0, .bits = 20};
    if (round % 7 == 0)
        s.bits = (int32_t)check_below(c, 32);
    for (int i = 0; i < 2; i++) {
        fixed(c, &s.of[i].multiplier, &s.of[i].shift);
        s.of[i].zero = level(c, &s);
    }
    if (round % 4 != 3) { /* the operand with the larger scale is halved */
        s.of[round % 4 == 1].multiplier = 1 << 30;
        s.of[round % 4 == 1].shift = 0;
    }
    fixed(c, &s.multiplier, &s.shift);
    s.zero = level(c, &s);
    const int32_t x = level(c, &s), y = level(c, &s);
    s.lo = x < y ? x : y;
    s.hi = x < y ? y : x;
    if (round % 5 < 2) /* negative results are cut off */
        s.lo = s.hi < s.zero ? s.lo : s.lo < s.zero ? s.zero : s.lo;
    if (round % 10 == 1 || round % 10 == 4) /* as of a relu */
        s.zero = s.lo = s.is_unsigned ? 0 : -128;
    s.has_ties = round % 8 == 0 || takt_sum_i8_ties(&s, &s.of[0]) || takt_sum_i8_ties(&s, &s.of[1]);
    return s;
}

static void one(takt_check *c, const takt_kernel *reference, size_t n, int round)
{
    const int where = round % CHECK_PLACES;
    takt_sum_i8 s = random_job(c, n, round);
    check_case(c, "n=%zu round %d", n, round);
    uint8_t *a = check_place(c, A, n, where), *b = check_place(c, B, n, where);
    check_fill_bytes(c, a, n);
    check_fill_bytes(c, b, n);
    s.a = a;
    s.b = b;
    uint8_t *want = s.y = check_place(c, WANT, n, CHECK_AT_END);
    takt_kernel_as_sum_i8(reference)(&s);
    s.y = check_place(c, Y, n, where);
    memset(s.y, 0x5a, n);
    CHECK_CALL(c, takt_kernel_as_sum_i8(c->kernel)(&s));
    check_same_bytes(c, s.y, want, n);
    check_intact(c, A);
    check_intact(c, B);
    s.y = a;
    CHECK_CALL(c, takt_kernel_as_sum_i8(c->kernel)(&s));
    check_same_bytes(c, s.y, want, n);
}

static void bench(takt_check *c)
{
    enum { N = 16384 };
    uint8_t *a = check_place(c, A, N, CHECK_AT_START), *b = check_place(c, B, N, CHECK_AT_START);
    check_fill_bytes(c, a, N);
    check_fill_bytes(c, b, N);
    const takt_sum_i8 s = {.n = N,
                           .a = a,
                           .b = b,
                           .y = check_place(c, Y, N, CHECK_AT_START),
                           .of = {{-128, 1073741824, 0}, {5, 1503238553, -1}},
                           .bits = 20,
                           .multiplier = 1234567890,
                           .shift = -18,
                           .zero = -128,
                           .lo = -128,
                           .hi = 127};
    CHECK_BENCH(c, "16384", 30.0 * N, 0, takt_kernel_as_sum_i8(c->kernel)(&s));
}

void check_sum_i8(takt_check *c, const takt_kernel *reference)
{
    int round = 0;
    for (size_t n = 0; n <= CHECK_TAILS; n++)
        for (int i = 0; i < 20; i++, round++)
            one(c, reference, n, round);
    bench(c);
}
