/* sizes.c - dimensions as a program give the same as substituting numbers into the expressions. */
#include "ir/sizes.h"

#include "test.h"

static takt_ctx *ctx;
static takt_dims *dims;
static uint32_t state = 1;

static uint32_t drawn(uint32_t below)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 16) % below;
}

static takt_dim name(const char *text)
{
    takt_dim d = 0;
    EXPECT_OK(ctx, takt_dim_name(dims, takt_span_of(text), &d));
    return d;
}

/* Expressions of the names, of each other, and of numbers. */
static size_t grow(takt_dim *pool, size_t count, size_t most)
{
    for (int tries = 0; count < most && tries < 1000; tries++) {
        const takt_dim_op op = (takt_dim_op)drawn(8);
        const takt_dim a = pool[drawn((uint32_t)count)];
        const takt_dim b = drawn(3) == 0 ? (takt_dim)(1 + drawn(9)) : pool[drawn((uint32_t)count)];
        if (takt_dim_make(dims, op, a, b, &pool[count]) == TAKT_OK)
            count++;
    }
    return count;
}

static void agree(const takt_dim *pool, size_t count, const takt_sizes *s, const uint32_t *cell,
                  const int64_t *sizes)
{
    int64_t cells[4096];
    bool all = true;
    takt_dim want[128];
    for (size_t i = 0; i < s->name_count; i++)
        cells[i] = sizes[i];
    for (size_t i = 0; i < count; i++)
        all = takt_dim_substitute(dims, pool[i], sizes, s->name_count, &want[i]) == TAKT_OK && all;
    const bool runs = takt_sizes_cells(s) <= 4096 && takt_sizes_run(s, cells) == TAKT_OK;
    EXPECT(!all || runs, "numbers can be put in, but the program fails: %s", takt_last_error(ctx));
    for (size_t i = 0; i < count && runs && all; i++)
        EXPECT(cells[cell[i]] == want[i], "expression %zu: %lld, not %lld", i,
               (long long)cells[cell[i]], (long long)want[i]);
}

static void random_expressions(void)
{
    enum { POOL = 40 };
    for (int round = 0; round < 200; round++) {
        takt_dim pool[POOL];
        uint32_t cell[POOL];
        takt_sizes s;
        EXPECT_OK(ctx, takt_dims_create(ctx, &dims));
        pool[0] = name("a");
        pool[1] = name("b");
        pool[2] = name("c");
        pool[3] = 6;
        if (round % 3 == 0) /* one word for another */
            EXPECT_OK(ctx, takt_dim_unify(dims, name("d"), pool[0]));
        pool[4] = round % 3 == 0 ? name("d") : 2;
        const size_t count = grow(pool, 5, 5 + drawn(POOL - 5));
        EXPECT_OK(ctx, takt_sizes_init(&s, ctx, dims));
        for (size_t i = 0; i < count; i++)
            EXPECT_OK(ctx, takt_sizes_cell(&s, pool[i], &cell[i]));
        for (int k = 0; k < 20; k++) {
            const int64_t sizes[4] = {drawn(40), drawn(9), 1 + drawn(1000), drawn(40)};
            agree(pool, count, &s, cell, sizes);
        }
        takt_sizes_deinit(&s);
        takt_dims_release(dims);
    }
}

/* Invalid sizes are refused, as when numbers are substituted. */
static void refusals(void)
{
    takt_sizes s;
    takt_dim d;
    uint32_t cell;
    int64_t cells[64];
    EXPECT_OK(ctx, takt_dims_create(ctx, &dims));
    const takt_dim a = name("a"), b = name("b");
    EXPECT_OK(ctx, takt_sizes_init(&s, ctx, dims));
    EXPECT_OK(ctx, takt_dim_make(dims, TAKT_DIM_SUB, a, b, &d));
    EXPECT_OK(ctx, takt_sizes_cell(&s, d, &cell));
    cells[0] = 5;
    cells[1] = 5;
    if (EXPECT_OK(NULL, takt_sizes_run(&s, cells)))
        EXPECT_EQ(cells[cell], 0);
    cells[1] = 6;
    EXPECT(takt_sizes_run(&s, cells) == TAKT_ERR_SHAPE, "5 - 6 is not a size");
    EXPECT_OK(ctx, takt_dim_make(dims, TAKT_DIM_FLOORDIV, a, b, &d));
    EXPECT_OK(ctx, takt_sizes_cell(&s, d, &cell));
    cells[1] = 0;
    EXPECT(takt_sizes_run(&s, cells) == TAKT_ERR_SHAPE, "nothing is divided by 0");
    cells[1] = 2;
    if (EXPECT_OK(NULL, takt_sizes_run(&s, cells)))
        EXPECT_EQ(cells[cell], 2);
    EXPECT_OK(ctx, takt_dim_make(dims, TAKT_DIM_MUL, a, a, &d));
    EXPECT_OK(ctx, takt_sizes_cell(&s, d, &cell));
    cells[0] = INT64_C(1) << 40;
    cells[1] = 1;
    EXPECT(takt_sizes_run(&s, cells) == TAKT_ERR_SHAPE, "2^80 is not a size");
    takt_sizes_deinit(&s);
    takt_dims_release(dims);
}

int main(void)
{
    if (EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx))) {
        random_expressions();
        refusals();
    }
    takt_ctx_destroy(ctx);
    return test_done();
}
