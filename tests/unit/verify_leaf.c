/* verify_leaf.c - the linear program of a leaf: its multipliers prove the value at its point, or
 * that it is infeasible. */
#include <math.h>
#include <string.h>

#include <takt/takt.h>

#include "test.h"
#include "util/random_array.h"
#include "verify/leaf.h"

enum { INPUTS = 12, ROWS = 16 };

static takt_ctx *ctx;

typedef struct problem {
    double lo[INPUTS], hi[INPUTS], cost[INPUTS], row[ROWS][INPUTS], constant[ROWS];
    size_t inputs, rows;
} problem;

static double between(takt_random *random, double low, double high)
{
    return low + (high - low) * (double)takt_random_below(random, 1 << 20) / (1 << 20);
}

/* Rows pass near a point of the box, on one side of it or, with `is_tight`, on any. */
static void make(problem *p, uint64_t seed, bool is_tight)
{
    takt_random random = {.state = seed};
    double at[INPUTS];
    p->inputs = 1 + takt_random_below(&random, INPUTS);
    p->rows = takt_random_below(&random, ROWS + 1);
    for (size_t j = 0; j < p->inputs; j++) {
        p->lo[j] = between(&random, -2, 1);
        p->hi[j] = p->lo[j] + (takt_random_below(&random, 8) == 0 ? 0 : between(&random, 0, 2));
        p->cost[j] = takt_random_below(&random, 6) == 0 ? 0 : between(&random, -1, 1);
        at[j] = between(&random, p->lo[j], p->hi[j]);
    }
    for (size_t i = 0; i < p->rows; i++) {
        double sum = 0;
        for (size_t j = 0; j < p->inputs; j++) {
            p->row[i][j] = takt_random_below(&random, 5) == 0 ? 0 : between(&random, -1, 1);
            sum += p->row[i][j] * at[j];
        }
        p->constant[i] = -sum - (is_tight ? between(&random, -0.5, 0.5) : between(&random, 0, 0.3));
    }
}

/* The least value over the box of cost plus the rows times beta. */
static double bound_of(const problem *p, const double *beta)
{
    double sum = 0;
    for (size_t i = 0; i < p->rows; i++)
        sum += beta[i] * p->constant[i];
    for (size_t j = 0; j < p->inputs; j++) {
        double a = p->cost[j];
        for (size_t i = 0; i < p->rows; i++)
            a += beta[i] * p->row[i][j];
        sum += a * (a > 0 ? p->lo[j] : p->hi[j]);
    }
    return sum;
}

static double value_of(const problem *p, const double *x, double *wrong)
{
    double sum = 0;
    *wrong = 0;
    for (size_t i = 0; i < p->rows; i++) {
        double side = p->constant[i];
        for (size_t j = 0; j < p->inputs; j++)
            side += p->row[i][j] * x[j];
        *wrong = fmax(*wrong, side);
    }
    for (size_t j = 0; j < p->inputs; j++) {
        sum += p->cost[j] * x[j];
        *wrong = fmax(*wrong, fmax(p->lo[j] - x[j], x[j] - p->hi[j]));
    }
    return sum;
}

static void solve(takt_leaf *leaf, const problem *p, double need)
{
    leaf->inputs = p->inputs;
    leaf->rows = p->rows;
    leaf->lo = p->lo;
    leaf->hi = p->hi;
    leaf->need = need;
    memcpy(leaf->cost, p->cost, p->inputs * sizeof(double));
    memcpy(leaf->constant, p->constant, p->rows * sizeof(double));
    for (size_t i = 0; i < p->rows; i++)
        memcpy(leaf->row + i * p->inputs, p->row[i], p->inputs * sizeof(double));
    takt_leaf_solve(leaf);
}

static void programs(void)
{
    takt_arena arena;
    takt_leaf leaf;
    problem p;
    size_t empty = 0, held = 0;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    takt_arena_init(&arena, ctx);
    EXPECT_OK(ctx, takt_leaf_init(&arena, INPUTS, ROWS, &leaf));
    for (uint64_t seed = 1; seed <= 20000 && test_failures == 0; seed++) {
        double wrong;
        make(&p, seed, seed % 2 == 0);
        solve(&leaf, &p, 1e4);
        const double value = value_of(&p, leaf.x, &wrong), bound = bound_of(&p, leaf.beta);
        for (size_t i = 0; i < p.rows; i++)
            EXPECT(leaf.beta[i] >= 0 && isfinite(leaf.beta[i]));
        if (wrong <= 1e-7) { /* both ends meet */
            held++;
            EXPECT(fabs(value - bound) <= 1e-6, "%llu: %g, but the bound is %g",
                   (unsigned long long)seed, value, bound);
            solve(&leaf, &p, value - 1e-3); /* less is required */
            EXPECT_IS(bound_of(&p, leaf.beta), >=, value - 1e-3 - 1e-9);
            continue;
        }
        empty++;
        EXPECT(seed % 2 == 0, "%llu: a point fits, but none was found", (unsigned long long)seed);
        solve(&leaf, &p, 1000);
        EXPECT(bound_of(&p, leaf.beta) > 1000, "%llu: the bound is %g", (unsigned long long)seed,
               bound_of(&p, leaf.beta));
    }
    EXPECT(empty > 500 && held > 10000, "%zu are empty, %zu are not", empty, held);
    takt_arena_deinit(&arena);
    takt_ctx_destroy(ctx);
}

static bool is_late(const void *user)
{
    size_t *asked = (size_t *)(uintptr_t)user;
    ++*asked;
    return true;
}

/* A deadline ends the iterations; the multipliers reached by then are valid as well. */
static void deadline(void)
{
    enum { WIDE = 400, HIGH = 199 };
    static double lo[WIDE], hi[WIDE];
    takt_random random = {.state = 7};
    takt_arena arena;
    takt_leaf leaf;
    size_t asked = 0;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    takt_arena_init(&arena, ctx);
    EXPECT_OK(ctx, takt_leaf_init(&arena, WIDE, HIGH, &leaf));
    leaf.inputs = WIDE;
    leaf.rows = HIGH;
    leaf.lo = lo;
    leaf.hi = hi;
    leaf.need = 1e9;
    leaf.is_late = is_late;
    leaf.user = &asked;
    for (size_t j = 0; j < WIDE; j++) {
        hi[j] = 1;
        leaf.cost[j] = between(&random, -1, 1);
    }
    for (size_t i = 0; i < HIGH; i++) {
        leaf.constant[i] = 1;
        for (size_t j = 0; j < WIDE; j++)
            leaf.row[i * WIDE + j] = between(&random, -1, 1);
    }
    takt_leaf_solve(&leaf);
    EXPECT(asked == 1, "asked %zu times", asked);
    for (size_t i = 0; i < HIGH; i++)
        EXPECT(leaf.beta[i] >= 0 && isfinite(leaf.beta[i]));
    takt_arena_deinit(&arena);
    takt_ctx_destroy(ctx);
}

TEST_MAIN(programs, deadline)
