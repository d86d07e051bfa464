/* quotient.c - divisions by a product and a fused multiply-add, for every dividend. */
#include "kernel/adam_f32/quotient.h"

#include "test.h"

/* Dividends have 24 bits; other powers of two change nothing but the exponent. */
static uint32_t first_different(float c, const quotient *q)
{
    uint32_t a = 1 << 23;
    while (a < 1 << 24 && quotient_of((float)a, q) == (float)a / c)
        a++;
    return a;
}

static void passes_every_dividend(float c)
{
    quotient q = {0, 0};
    if (quotient_find(c, &q)) {
        const uint32_t a = first_different(c, &q);
        EXPECT(a == 1 << 24, "%u / %a has other bits", (unsigned)a, (double)c);
    }
}

/* Divisors end with a one, a zero or two zeros: the middles differ in number. */
static void every_dividend_passes(void)
{
    passes_every_dividend((float)0x9b74ed);
    passes_every_dividend((float)0xf3c0a7);
    passes_every_dividend((float)0x9b74ee);
    passes_every_dividend((float)0xc5d1fc);
    for (int step = 1; step < 1000; step += 300)
        passes_every_dividend((float)sqrt(1 - pow(0.999, step)));
}

/* Corrections for which low as it is gives other bits, with a dividend that shows it. */
static void near_middles_are_seen(void)
{
    static const struct {
        float c, a;
    } some[] = {{0x1.44d30ep-2f, 12679162},
                {0x1.61b88ep-2f, 16387631},
                {0x1.841c1ep-2f, 16039622},
                {0x1.e43ecap-2f, 13975231},
                {0x1.f56ad6p-2f, 13740933}};
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        quotient q = {0, 0};
        if (quotient_find(some[i].c, &q))
            EXPECT(quotient_of(some[i].a, &q) == some[i].a / some[i].c, "%a / %a has other bits",
                   (double)some[i].a, (double)some[i].c);
        passes_every_dividend(some[i].c);
    }
}

static void most_corrections_are_found(void)
{
    int found = 0;
    for (int step = 1; step <= 1000; step++) {
        quotient q = {0, 0};
        found += quotient_find((float)sqrt(1 - pow(0.999, step)), &q);
    }
    EXPECT(found > 950, "only %d of 1000 need no division", found);
}

static void special_dividends_pass(float c)
{
    quotient q = {0, 0};
    const float some[] = {0.0f, -0.0f, INFINITY, 0x1p-74f, 0x1.fffffep63f};
    EXPECT(quotient_find(c, &q), "no quotient by %a", (double)c);
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        const float got = quotient_of(some[i], &q), want = some[i] / c;
        EXPECT(got == want && signbit(got) == signbit(want), "%a / %a is %a, not %a",
               (double)some[i], (double)c, (double)got, (double)want);
    }
    EXPECT(isnan(quotient_of(NAN, &q)), "NaN / %a is a number", (double)c);
}

static void special_dividends(void)
{
    special_dividends_pass(1);
    special_dividends_pass(0.5f);
    special_dividends_pass(0x1.8p-3f);
}

static void extreme_divisors_are_divided_by(void)
{
    const float none[] = {0, -0.5f, INFINITY, NAN, 0x1p-140f, 0x1p100f, 0x1.8c06b6p+31f};
    quotient q = {0, 0};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        EXPECT(!quotient_find(none[i], &q), "a quotient by %a", (double)none[i]);
}

TEST_MAIN(every_dividend_passes, near_middles_are_seen, most_corrections_are_found,
          special_dividends, extreme_divisors_are_divided_by)
