/* logic_threads.c - rules over large sets of tuples give the same rows with any number of threads,
 * and fail in the same way. */
#include <stdlib.h>
#include <string.h>

#include <takt/takt.h>

#include "op/util/datalog_machine.h"
#include "os/pool.h"
#include "test.h"
#include "util/random_array.h"

static takt_ctx *ctx;
static const int threads[] = {1, 2, 3, 8};
enum { COUNTS = sizeof threads / sizeof *threads, NODES = 300, MOST = 8192, ROOM = 1 << 18 };

typedef struct facts {
    uint32_t rows[MOST][2];
    size_t count;
} facts;

static int compare(const void *left, const void *right)
{
    const uint32_t *a = left, *b = right;
    return a[0] != b[0] ? (a[0] < b[0] ? -1 : 1) : a[1] != b[1] ? (a[1] < b[1] ? -1 : 1) : 0;
}

/* Ascending, each once, then rows that hold none. */
static void settle(facts *f)
{
    size_t kept = 0;
    qsort(f->rows, f->count, sizeof f->rows[0], compare);
    for (size_t i = 0; i < f->count; i++)
        if (kept == 0 || compare(f->rows[i], f->rows[kept - 1]) != 0)
            memcpy(f->rows[kept++], f->rows[i], sizeof f->rows[0]);
    f->count = kept;
    memset(f->rows[kept], 0xff, (MOST - kept) * sizeof f->rows[0]);
}

/* Edges between random nodes, whose numbers are multiples of `factor`. */
static void make_random(facts *f, uint64_t seed, size_t count, uint32_t factor)
{
    takt_random random = {.state = seed};
    f->count = count;
    for (size_t i = 0; i < count; i++)
        for (int k = 0; k < 2; k++)
            f->rows[i][k] = factor * (uint32_t)takt_random_below(&random, NODES);
    settle(f);
}

/* Two nodes lead to thousands of others: their groups do not fit into a worker's memory. */
static void make_hub(facts *f)
{
    f->count = 0;
    for (uint32_t i = 0; i < 6000; i++) {
        f->rows[f->count][0] = 1;
        f->rows[f->count++][1] = i + 10;
    }
    for (uint32_t i = 0; i < 1000; i++) {
        f->rows[f->count][0] = 10000 + i;
        f->rows[f->count++][1] = 11000 + i;
    }
    f->rows[f->count][0] = 0;
    f->rows[f->count++][1] = 1;
    settle(f);
}

typedef struct result {
    takt_dl_full full;
    uint32_t *rows[2];
} result;

static void run(takt_arena *arena, const takt_dl *program, const facts *f, size_t capacity,
                int count, result *to)
{
    const size_t sizes[] = {capacity, program->derived == 2 ? capacity : MOST, MOST};
    takt_dl_plan plan;
    takt_pool *pool = NULL;
    EXPECT_OK(ctx, takt_dl_prepare(arena, program, sizes, (size_t)count, &plan));
    EXPECT_EQ((plan.workers > 1), (count > 1 && capacity >= TAKT_DL_LARGE));
    EXPECT_OK(ctx, takt_pool_create(ctx, count, NULL, &pool));
    EXPECT(takt_pool_try_lease(pool));
    char *scratch = takt_arena_array(arena, plan.scratch_bytes + 64, 1);
    for (int i = 0; i < program->derived; i++)
        to->rows[i] =
            takt_arena_array(arena, capacity * (size_t)program->arity[i] + 1, sizeof(uint32_t));
    scratch += -(uintptr_t)scratch & 63;
    to->full = takt_dl_run(&plan, &(const uint32_t *){f->rows[0]}, to->rows, scratch, NULL, pool);
    takt_pool_release(pool);
    takt_pool_destroy(pool);
}

static bool are_equal(const takt_dl *program, const result *a, const result *b, size_t capacity)
{
    if (a->full.relation != b->full.relation || a->full.round != b->full.round ||
        a->full.is_spent != b->full.is_spent)
        return false;
    for (int i = 0; i < program->derived && a->full.relation < 0; i++)
        if (memcmp(a->rows[i], b->rows[i],
                   capacity * (size_t)program->arity[i] * sizeof(uint32_t)) != 0)
            return false;
    return true;
}

/* How many rows of the first relation hold something. */
static size_t rows_of(const takt_dl *program, const result *r, size_t capacity)
{
    size_t count = 0;
    while (count < capacity && r->rows[0][count * (size_t)program->arity[0]] != UINT32_MAX)
        count++;
    return count;
}

static size_t check(const char *text, const facts *f, size_t capacity)
{
    takt_arena arena;
    takt_dl program;
    result first = {.full.round = 0}, other;
    takt_arena_init(&arena, ctx);
    EXPECT_OK(ctx, takt_dl_read(&arena, text, &program));
    run(&arena, &program, f, capacity, threads[0], &first);
    for (size_t i = 1; i < COUNTS && test_failures == 0; i++) {
        run(&arena, &program, f, capacity, threads[i], &other);
        EXPECT(are_equal(&program, &first, &other, capacity),
               "%s: %d threads, room for %zu: %d, round %zu, instead of %d, round %zu", text,
               threads[i], capacity, other.full.relation, other.full.round, first.full.relation,
               first.full.round);
    }
    const size_t count = first.full.relation < 0 ? rows_of(&program, &first, capacity) : 0;
    takt_arena_deinit(&arena);
    return count;
}

static void same_rows(void)
{
    static const char *const texts[] = {
        /* closures, with a pivot on either side, and with tables that are locked */
        "2 : 2 ; 0(a, c) <- 1(a, c) ; 0(a, c) <- 1(a, b), 0(b, c)",
        "2 : 2 ; 0(a, c) <- 1(a, c) ; 0(a, c) <- 0(a, b), 1(b, c), 1(b, _)",
        "2 : 2 ; 0(a, c) <- 1(a, c) ; 0(a, c) <- 1(a, b), 0(b, c), 1(a, _)",
        "3 : 2 ; 0(a, c, 7) <- 1(a, c) ; 0(a, c, 7) <- 0(a, b, _), 1(b, c)",
        /* no pivot */
        "2 : 2 ; 0(a, b) <- 1(c, a), 1(c, b) ; 0(a, b) <- 1(c, a), 0(c, d), 1(d, b)",
        "2 : 2 ; 0(a, c) <- 1(a, c), a < c ; 0(a, c) <- 0(a, b), 0(b, c), a != c",
        "3 : 2 ; 0(a, b, 1) <- 1(a, b) ; 0(a, c, 2) <- 0(a, b, _), 0(b, c, 1)",
        "2 1 : 2 ; 0(a, b) <- 1(b), 2(a, b) ; 0(a, b) <- 2(b, a) ; 1(b) <- 0(a, b), a < b",
        /* no recursion */
        "2 : 2 ; 0(a, b) <- 1(a, b), 1(b, c), 1(c, a)", "1 : 2 ; 0(a) <- 1(a, b), 1(b, 0)",
        /* the same with hashed numbers, enough rows for threads to share the indexes */
        "2 : 2 ; 0(a, b) <- 1(a, b), 1(b, c), 1(c, a)"};
    enum { TEXTS = sizeof texts / sizeof *texts };
    static facts f;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    for (size_t i = 0; i < TEXTS && test_failures == 0; i++) {
        const bool is_last = i + 1 == TEXTS;
        make_random(&f, i + 3, i == 8 || is_last ? 8000 : 700 + 100 * i,
                    i % 2 == 0 && !is_last ? 1 : 1000003);
        const size_t count = check(texts[i], &f, ROOM);
        EXPECT(count > 0, "%s derives nothing", texts[i]);
        if (count > TAKT_DL_LARGE + 1) { /* no room for the last row, or for most of them */
            EXPECT_EQ(check(texts[i], &f, count), count);
            EXPECT_EQ(check(texts[i], &f, count - 1), 0);
            EXPECT_EQ(check(texts[i], &f, TAKT_DL_LARGE), 0);
        }
    }
    takt_ctx_destroy(ctx);
}

static void large_groups(void)
{
    static facts f;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    make_hub(&f);
    EXPECT_EQ(check("2 : 2 ; 0(a, c) <- 1(a, c) ; 0(a, c) <- 0(a, b), 1(b, c), 1(b, _)", &f,
                    TAKT_DL_LARGE),
              13001);
    takt_ctx_destroy(ctx);
}

/* Pairs of small numbers are bits, pairs of large ones are in a table: the same rows, even if the
 * largest number occurs only in a head. */
static void small_values(void)
{
    enum { FACTOR = 1000003 };
    static const char *const texts[] = {
        "2 : 2 ; 0(a, b) <- 1(c, a), 1(c, b) ; 0(a, b) <- 1(c, a), 0(c, d), 1(d, b)",
        "2 : 2 ; 0(a, c) <- 1(a, c), a < c ; 0(a, c) <- 0(a, b), 0(b, c), a != c",
        "2 2 : 2 ; 0(a, b) <- 2(a, b) ; 1(a, b) <- 0(b, a) ; 0(a, b) <- 1(a, c), 2(c, b)"};
    static facts f;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    for (size_t i = 0; i < sizeof texts / sizeof *texts && test_failures == 0; i++) {
        takt_arena arena;
        takt_dl program;
        result small, large;
        takt_arena_init(&arena, ctx);
        EXPECT_OK(ctx, takt_dl_read(&arena, texts[i], &program));
        make_random(&f, i + 5, 350, 1);
        run(&arena, &program, &f, ROOM, 1, &small);
        make_random(&f, i + 5, 350, FACTOR);
        run(&arena, &program, &f, ROOM, 1, &large);
        EXPECT_IS(small.full.relation, <, 0);
        EXPECT_IS(rows_of(&program, &small, ROOM), >, 0);
        EXPECT_EQ(rows_of(&program, &small, ROOM), rows_of(&program, &large, ROOM));
        for (size_t k = 0; k < 2 * rows_of(&program, &small, ROOM) && test_failures == 0; k++)
            EXPECT(large.rows[0][k] == FACTOR * small.rows[0][k], "%s: value %zu", texts[i], k);
        takt_arena_deinit(&arena);
    }
    make_random(&f, 7, 900, 1);
    const size_t count = check("2 : 2 ; 0(a, 5000) <- 1(a, b) ; 0(a, b) <- 0(b, a)", &f, 1 << 19);
    EXPECT(count > 0 && count % 2 == 0, "%zu rows", count);
    f.rows[0][1] = UINT32_MAX; /* the largest value of all: no bits */
    EXPECT_IS(check("2 : 2 ; 0(a, b) <- 1(a, b) ; 0(b, a) <- 0(a, b)", &f, 1 << 19), >, 0);
    takt_ctx_destroy(ctx);
}

/* Memory is planned for the capacity, but only the part that few rows need is written: the rest
 * never becomes resident. */
static void untouched(void)
{
    enum { FILLING = 0xa5, LINE = 64 };
    static facts f;
    const size_t sizes[] = {ROOM, MOST};
    takt_arena arena;
    takt_dl program;
    takt_dl_plan plan;
    size_t touched = 0;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    takt_arena_init(&arena, ctx);
    make_hub(&f);
    EXPECT_OK(ctx, takt_dl_read(&arena,
                                "2 : 2 ; 0(a, c) <- 1(a, c), a < c ; "
                                "0(a, c) <- 0(a, b), 0(b, c), a != c",
                                &program));
    EXPECT_OK(ctx, takt_dl_prepare(&arena, &program, sizes, 1, &plan));
    unsigned char *scratch = takt_arena_array(&arena, plan.scratch_bytes + LINE, 1);
    uint32_t *rows = takt_arena_array(&arena, 2 * ROOM, sizeof *rows);
    scratch += -(uintptr_t)scratch % LINE;
    memset(scratch, FILLING, plan.scratch_bytes);
    const takt_dl_full full =
        takt_dl_run(&plan, &(const uint32_t *){f.rows[0]}, &rows, scratch, NULL, NULL);
    EXPECT_IS(full.relation, <, 0);
    for (size_t i = 0; i < plan.scratch_bytes; i += LINE) {
        size_t k = i;
        while (k < i + LINE && k < plan.scratch_bytes && scratch[k] == FILLING)
            k++;
        touched += k < i + LINE && k < plan.scratch_bytes ? LINE : 0;
    }
    EXPECT(touched < plan.scratch_bytes / 8, "%zu of %zu bytes", touched, plan.scratch_bytes);
    takt_arena_deinit(&arena);
    takt_ctx_destroy(ctx);
}

/* More rows are tried than the budget allows. */
static void budget(void)
{
    static facts f;
    takt_config options = {.limits.trip_count = 200};
    EXPECT_OK(NULL, takt_ctx_create(&options, &ctx));
    make_random(&f, 5, 900, 1);
    EXPECT_EQ(check("2 : 2 ; 0(a, b) <- 1(c, a), 1(c, b) ; 0(a, b) <- 1(c, a), 0(c, d), 1(d, b)",
                    &f, ROOM),
              0);
    takt_ctx_destroy(ctx);
}

TEST_MAIN(same_rows, large_groups, small_values, untouched, budget)
