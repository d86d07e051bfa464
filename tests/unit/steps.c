/* steps.c - steps in a series: found where they are, and none in noise, drifts or outliers. */
#include <math.h>

#include "base/philox.h"
#include "measure/trend.h"
#include "test.h"

enum { MOST = 100, ROUNDS = 1000 };

static double values[MOST], scratch[MOST];
static size_t steps[8];

/* Normal, by Box and Muller. */
static double noise(uint64_t at)
{
    const takt_philox_at where = {.seed = 11};
    uint32_t words[2];
    takt_philox_fill(&where, 2 * at, 2, words);
    const double u = (words[0] + 0.5) / 4294967296.0, v = (words[1] + 0.5) / 4294967296.0;
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

/* Adds `change` from `at` on, and `change_2` from `at_2` on. */
static void make(uint64_t seed, size_t count, double spread, size_t at, double change)
{
    for (size_t i = 0; i < count; i++)
        values[i] = (1 + spread * noise(seed * MOST + i)) * (i >= at ? change : 1);
}

static size_t find(size_t count)
{
    return takt_steps_find(values, count, scratch, steps, 8);
}

static void noise_alone(void)
{
    const size_t counts[] = {4, 6, 9, 12, 24, 100};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        int wrong = 0;
        for (uint64_t r = 0; r < ROUNDS; r++) {
            make(r, counts[c], 0.01, MOST, 1);
            wrong += find(counts[c]) > 0;
        }
        EXPECT(wrong <= ROUNDS / 20, "%d of %d series of %zu have a step", wrong, ROUNDS,
               counts[c]);
    }
}

static void one_step(void)
{
    int found = 0, exact = 0;
    for (uint64_t r = 0; r < ROUNDS; r++) {
        make(5000 + r, 24, 0.01, 12, 1.08);
        found += find(24) > 0;
        exact += find(24) == 1 && steps[0] == 12;
    }
    EXPECT(found >= ROUNDS * 95 / 100 && exact >= ROUNDS * 9 / 10, "%d, %d of them exactly", found,
           exact);
    make(1, 8, 0, 5, 0.8); /* downwards, without noise */
    EXPECT_EQ(find(8), 1);
    EXPECT_EQ(steps[0], 5);
    make(1, 8, 0, 5, 1.005); /* less than 1 % is none */
    EXPECT_EQ(find(8), 0);
}

/* A step before the second value, which one value before it makes: 23.7, 45.5, 45.9, ... */
static void first_step(void)
{
    const double early[] = {23.7, 45.5, 45.9, 45.6, 45.8, 45.7}, late[] = {1, 1.01, 2, 2.01, 2, 2};
    for (size_t i = 0; i < 6; i++)
        values[i] = early[i];
    EXPECT(find(6) == 1 && steps[0] == 1, "at %zu", steps[0]);
    for (size_t i = 0; i < 6; i++)
        values[i] = late[i];
    EXPECT(find(6) == 1 && steps[0] == 2, "at %zu", steps[0]);
}

static void several(void)
{
    make(7, 30, 0.004, 10, 1.08);
    for (size_t i = 18; i < 30; i++)
        values[i] *= 0.9;
    EXPECT(find(30) == 2 && steps[0] == 10 && steps[1] == 18, "%zu at %zu, %zu", find(30), steps[0],
           steps[1]);
    make(8, 30, 0, MOST, 1); /* a few days only */
    for (size_t i = 12; i < 15; i++)
        values[i] = 1.2;
    EXPECT(find(30) == 2 && steps[0] == 12 && steps[1] == 15, "%zu at %zu", steps[0], steps[1]);
    EXPECT_EQ(takt_steps_find(values, 30, scratch, steps, 1), 1);
}

static void no_steps(void)
{
    make(9, 24, 0.003, MOST, 1);
    values[13] = 3; /* one outlier */
    EXPECT(find(24) == 0, "at %zu", steps[0]);
    for (size_t i = 0; i < 24; i++)
        values[i] = 1 + 0.01 * (double)i; /* a drift */
    EXPECT(find(24) == 0, "at %zu", steps[0]);
    EXPECT_EQ(find(3), 0);
    EXPECT_EQ(find(1), 0);
}

TEST_MAIN(noise_alone, one_step, first_step, several, no_steps)
