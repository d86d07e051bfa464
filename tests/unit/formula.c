/* formula.c - tables of numbers as polynomials: equal everywhere, or a bound. */
#include "measure/report/formula.h"

#include <stdlib.h>
#include <string.h>

#include "test.h"

enum { COUNT = 300 };

static int64_t rounded(int64_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

static void check(const int64_t *v, int64_t low, int64_t step, size_t most_pieces)
{
    takt_formula f;
    takt_formula_find(&f, v, COUNT, low, step);
    EXPECT_IS(f.count, <=, most_pieces);
    for (size_t i = 0; i < COUNT; i++) {
        const double at = takt_formula_at(&f, low + (int64_t)i * step);
        if (f.is_exact)
            EXPECT_EQ(at, (double)v[i]);
        else
            EXPECT_IS(at, >=, (double)v[i]);
    }
}

static void write_check(const int64_t *v, int64_t low, const char *wants)
{
    takt_formula f;
    char text[512];
    takt_formula_find(&f, v, COUNT, low, 1);
    EXPECT(f.is_exact);
    EXPECT_EQ(f.count, 1);
    const size_t length = takt_piece_write(&f.at[0], "n", text, sizeof text);
    EXPECT_TEXT(text, wants);
    for (size_t room = 0; room < length; room++) { /* cut, never beyond */
        char small[512];
        memset(small, 'x', sizeof small);
        EXPECT_EQ(takt_piece_write(&f.at[0], "n", small, room), length);
        EXPECT(small[room] == 'x' && (room == 0 || strlen(small) == room - 1));
    }
}

int main(void)
{
    int64_t v[COUNT];
    for (int64_t low = 0; low < 40; low += 13) {
        for (int64_t i = 0; i < COUNT; i++)
            v[i] = 16 * (low + i) * (low + i) + 1024 * (low + i) + 4096;
        check(v, low, 1, 1);
        write_check(v, low, "16*n^2 + 1024*n + 4096");
        check(v, low, 7, 1);
        for (int64_t i = 0; i < COUNT; i++) /* sums of values in whole lines */
            v[i] = rounded(12 * (low + i) * (low + i)) + rounded(8 * (low + i)) + 64;
        check(v, low, 1, 1);
        for (int64_t i = 0; i < COUNT; i++) /* halves: a different polynomial for odd sizes */
            v[i] = 256 * ((low + i + 1) / 2) * ((low + i + 1) / 2);
        check(v, low, 1, 1);
        for (int64_t i = 0; i < COUNT; i++) /* another step has the most from 100 on */
            v[i] = low + i == 1 ? 7 : i < 100 ? 64 * i : i * i + 17;
        check(v, low, 1, 4);
        for (int64_t i = 0; i < COUNT; i++)
            v[i] = 100 - (low + i);
        write_check(v, low, "-1*n + 100");
    }
    for (int64_t i = 0; i < COUNT; i++)
        v[i] = 8 * ((i + 3) / 4);
    write_check(v, 0, "2*n + [0, 6, 4, 2][n mod 4]");
    memset(v, 0, sizeof v);
    write_check(v, 5, "0");
    srand(3);
    for (int trial = 0; trial < 200; trial++) { /* no formula: a bound */
        takt_formula f;
        for (int64_t i = 0; i < COUNT; i++)
            v[i] = 64 * i * (trial % 5) * (trial % 3 > 0 ? i : 1) + rand() % 4096;
        check(v, trial, 1 + trial % 2, 1);
        takt_formula_find(&f, v, COUNT, trial, 1);
        EXPECT(!f.is_exact);
        EXPECT_EQ(f.count, 1);
    }
    for (size_t count = 1; count < 5; count++) {
        takt_formula f;
        takt_formula_find(&f, v, count, 3, 1);
        for (size_t i = 0; i < count; i++)
            EXPECT_EQ(takt_formula_at(&f, 3 + (int64_t)i), (double)v[i]);
        takt_formula_find(&f, v, count, 3, 2);
        for (size_t i = 0; i < count; i++)
            EXPECT_IS(takt_formula_at(&f, 3 + 2 * (int64_t)i), >=, (double)v[i]);
    }
    return test_done();
}
