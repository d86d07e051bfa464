/* order.c - selecting the first few items of a line: the same as sorting all of it. */
#include "backend/cpu/order.h"

#include <math.h>
#include <stdlib.h>

#include "test.h"

enum { MOST = 3000, KINDS = 7 };

static uint32_t seed = 1;

static uint32_t next(void)
{
    seed = seed * 1664525u + 1013904223u;
    return seed >> 8;
}

/* Ascending, descending, organ pipe, few values, zeros of both signs, with NaNs, any. */
static float value(int kind, size_t i, size_t n)
{
    const uint32_t r = next();
    switch (kind) {
    case 0: return (float)i;
    case 1: return -(float)i;
    case 2: return (float)(i < n / 2 ? i : n - i);
    case 3: return (float)(r % 3);
    case 4: return r & 1 ? 0.0f : -0.0f;
    case 5: return r % 4 == 0 ? NAN : (float)(r % 97) - 40;
    default: return (float)r;
    }
}

static void compare(int kind, size_t n, size_t k, bool descending)
{
    static float x[MOST];
    static takt_keyed all[MOST], spare[MOST], some[MOST];
    for (size_t i = 0; i < n; i++)
        x[i] = value(kind, i, n);
    const takt_order_line line = {TAKT_F32, x, 1, n, descending};
    EXPECT(takt_order_keys(&line, all, NULL) && takt_order_sort(all, spare, n, NULL));
    EXPECT(takt_order_room(n, k) <= n && takt_order_room(n, k) >= k);
    EXPECT(takt_order_select(&line, some, k, NULL));
    for (size_t i = 0; i < k; i++)
        if (some[i].place != all[i].place) {
            EXPECT(false, "kind %d, %zu of %zu: item %zu is %zu, not %zu", kind, k, n, i,
                   (size_t)some[i].place, (size_t)all[i].place);
            return;
        }
}

static void selects(void)
{
    static const size_t sizes[] = {1, 2, 15, 16, 17, 65, 130, 131, 400, 1001, MOST};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int kind = 0; kind < KINDS; kind++)
            for (int round = 0; round < 24; round++) {
                const size_t n = sizes[s], few = n < 60 ? n : 60;
                const size_t k = round % 3 == 0 ? next() % (n + 1) : next() % (few + 1);
                compare(kind, n, k, round & 1);
            }
}

/* Elements of other types, and those that are not adjacent, have no floats to compare first. */
static void other_lines(void)
{
    enum { N = 700, K = 20 };
    static int16_t x[2 * N];
    static takt_keyed all[N], spare[N], some[N];
    for (size_t i = 0; i < 2 * N; i++)
        x[i] = (int16_t)(next() % 500);
    const takt_order_line line = {TAKT_I16, x, 2, N, true};
    EXPECT(takt_order_keys(&line, all, NULL) && takt_order_sort(all, spare, N, NULL));
    EXPECT(takt_order_select(&line, some, K, NULL));
    for (size_t i = 0; i < K; i++)
        EXPECT(some[i].place == all[i].place, "item %zu", i);
}

TEST_MAIN(selects, other_lines)
