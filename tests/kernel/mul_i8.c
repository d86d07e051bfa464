/* mul_i8.c - holds products of bytes to the scalar ones: tails, signs, shifts, what wraps. */
#include "kernel/mul_i8/mul_i8.h"

#include <string.h>

#include "check.h"

enum { A, B, Y, WANT };

check_fn check_mul_i8;

static int32_t level(takt_check *c, const takt_mul_i8 *s)
{
    return (int32_t)check_below(c, 256) - (s->is_unsigned ? 0 : 128);
}

/* Mostly as files have them; at times anything. */
static takt_mul_i8 random_job(takt_check *c, size_t n, int round)
{
    takt_mul_i8 s = {.n = n, .is_unsigned = round % 2};
    const size_t kind = check_below(c, 12);
    s.multiplier = (int32_t)(check_below(c, 1 << 30) + (1u << 30));
    s.shift = -(int32_t)check_below(c, 16);
    if (kind == 0)
        s.multiplier = INT32_MIN;
    if (kind <= 1)
        s.shift = (int32_t)check_below(c, 80) - 40;
    if (kind == 2)
        s.multiplier = -s.multiplier;
    s.a_zero = level(c, &s);
    s.b_zero = level(c, &s);
    s.zero = level(c, &s);
    const int32_t x = level(c, &s), y = level(c, &s);
    s.lo = x < y ? x : y;
    s.hi = x < y ? y : x;
    if (round % 3 == 0) { /* no activation */
        s.lo = s.is_unsigned ? 0 : -128;
        s.hi = s.lo + 255;
    }
    return s;
}

static void one(takt_check *c, const takt_kernel *reference, size_t n, int round)
{
    const int where = round % CHECK_PLACES;
    takt_mul_i8 s = random_job(c, n, round);
    check_case(c, "n=%zu round %d", n, round);
    uint8_t *a = check_place(c, A, n, where), *b = check_place(c, B, n, where);
    check_fill_bytes(c, a, n);
    check_fill_bytes(c, b, n);
    s.a = a;
    s.b = b;
    uint8_t *want = s.y = check_place(c, WANT, n, CHECK_AT_END);
    takt_kernel_as_mul_i8(reference)(&s);
    s.y = check_place(c, Y, n, where);
    memset(s.y, 0x5a, n);
    CHECK_CALL(c, takt_kernel_as_mul_i8(c->kernel)(&s));
    check_same_bytes(c, s.y, want, n);
    check_intact(c, A);
    check_intact(c, B);
    s.y = b;
    CHECK_CALL(c, takt_kernel_as_mul_i8(c->kernel)(&s));
    check_same_bytes(c, s.y, want, n);
}

static void bench(takt_check *c)
{
    enum { N = 16384 };
    uint8_t *a = check_place(c, A, N, CHECK_AT_START), *b = check_place(c, B, N, CHECK_AT_START);
    check_fill_bytes(c, a, N);
    check_fill_bytes(c, b, N);
    const takt_mul_i8 s = {.n = N,
                           .a = a,
                           .b = b,
                           .y = check_place(c, Y, N, CHECK_AT_START),
                           .a_zero = -128,
                           .b_zero = 5,
                           .multiplier = 1234567890,
                           .shift = -7,
                           .zero = -9,
                           .lo = -128,
                           .hi = 127};
    CHECK_BENCH(c, "16384", 10.0 * N, 0, takt_kernel_as_mul_i8(c->kernel)(&s));
}

void check_mul_i8(takt_check *c, const takt_kernel *reference)
{
    int round = 0;
    for (size_t n = 0; n <= CHECK_TAILS; n++)
        for (int i = 0; i < 20; i++, round++)
            one(c, reference, n, round);
    bench(c);
}
