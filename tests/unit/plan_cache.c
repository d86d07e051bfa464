/* plan_cache.c - plans are made once, cached within limits, and freed on request. */
#include "test.h"

#include <pthread.h>
#include <string.h>

#include <takt/takt.h>

#include "api/cache.h"
#include "base/ctx.h"
#include "plan/plan.h"
#include "util/inject.h"

static const char text[] = "model m(x: f32[n, 6]) -> (y: f32[n, 5]) seed=2 {\n"
                           "  state turns: i64[] = 0\n"
                           "  next turns = turns + 1\n"
                           "  return y = dense(x, 5, act=relu)\n"
                           "}\n";

static takt_model *load(takt_ctx *ctx, uint64_t seed)
{
    takt_model *m;
    const takt_load_options options = {.seed = seed};
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", text, strlen(text), &options, &m));
    return m;
}

static takt_plan *get(const takt_model *m, takt_ctx *ctx, takt_plan_options options)
{
    takt_plan *plan;
    EXPECT_OK(ctx, takt_plan_get(m, &options, &plan));
    return plan;
}

static void equal_asks_get_one_plan(void)
{
    takt_ctx *ctx;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    takt_model *a = load(ctx, 0), *b = load(ctx, 0), *c = load(ctx, 5);
    const takt_plan_options plain = {.sizes = "n=2", .threads = 1};
    takt_plan *first = get(a, ctx, plain);
    const struct {
        const takt_model *model;
        takt_plan_options options;
        bool is_same;
    } cases[] = {
        {a, plain, true},
        {b, plain, true},  /* another object, the same model */
        {c, plain, false}, /* other weights */
        {a, {.sizes = "n=3", .threads = 1}, false},
        {a, {.sizes = "n=2", .threads = 2}, false},
        {a, {.sizes = "n=2", .threads = 1, .level = -1}, false},
        {a, {.sizes = "n=2", .threads = 1, .isa = "scalar"}, false},
        {a, {.sizes = "n=2", .threads = 1, .backend = "ref"}, false},
        {a, {.sizes = "n=2", .threads = 1, .passes = "-cse"}, false},
        {a, {.sizes = "n=2", .threads = 1, .no_reuse = true}, false},
        {a, {.sizes = "n=2", .threads = 1, .memory_limit = 1 << 20}, false},
        {a, {.sizes = "n=2", .threads = 1, .dry = true}, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        takt_plan *plan = get(cases[i].model, ctx, cases[i].options);
        EXPECT((plan == first) == cases[i].is_same, "case %zu", i);
        takt_plan_destroy(plan);
    }
    takt_plan *one = get(a, ctx, (takt_plan_options){.sizes = "n=1"});
    takt_plan *none = get(a, ctx, (takt_plan_options){0});
    EXPECT(one == none, "a size that is not said is 1");
    takt_plan_destroy(one);
    takt_plan_destroy(none);
    takt_plan_destroy(first);
    EXPECT_STATUS(ctx, takt_plan_get(a, &(takt_plan_options){.sizes = "k=1"}, &one),
                  TAKT_ERR_NOT_FOUND);
    EXPECT_SAME(one, NULL);
    takt_model_destroy(a);
    takt_model_destroy(b);
    takt_model_destroy(c);
    takt_ctx_destroy(ctx);
}

/* Many sizes: the cache stays bounded, the plan in use stays in it, and trim empties the rest. */
static void bounded_and_trimmed(void)
{
    takt_ctx *ctx;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    takt_model *m = load(ctx, 0);
    const uint64_t empty = atomic_load(&ctx->live_bytes);
    EXPECT_EQ(takt_ctx_trim(ctx), 0);
    takt_plan *used = get(m, ctx, (takt_plan_options){.sizes = "n=7"});
    uint64_t high = 0, low = UINT64_MAX;
    for (int i = 0; i < 3 * TAKT_CACHE_PLANS; i++) {
        char sizes[32];
        snprintf(sizes, sizeof sizes, "n=%d", 100 + i);
        takt_plan_destroy(get(m, ctx, (takt_plan_options){.sizes = sizes}));
        const uint64_t now = atomic_load(&ctx->live_bytes);
        if (i >= TAKT_CACHE_PLANS) {
            high = now > high ? now : high;
            low = now < low ? now : low;
        }
    }
    EXPECT(high - low < high / 10, "from %llu to %llu bytes", (unsigned long long)low,
           (unsigned long long)high);
    takt_plan *again = get(m, ctx, (takt_plan_options){.sizes = "n=7"});
    EXPECT(again == used, "a plan in use has been dropped");
    takt_plan_destroy(again);
    const uint64_t before = atomic_load(&ctx->live_bytes);
    const uint64_t freed = takt_ctx_trim(ctx);
    EXPECT_IS(freed, >, 0);
    EXPECT_EQ(before - atomic_load(&ctx->live_bytes), freed);
    EXPECT(takt_ctx_trim(ctx) == 0, "the plan in use stays");
    takt_plan_destroy(used);
    EXPECT_IS(takt_ctx_trim(ctx), >, 0);
    EXPECT(atomic_load(&ctx->live_bytes) - empty < 4096, "only the empty table remains");
    takt_model_destroy(m);
    takt_ctx_destroy(ctx);
}

/* A session outlives cache, plan and model. */
static void sessions_live_on(void)
{
    takt_ctx *ctx;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    takt_model *m = load(ctx, 0);
    takt_plan *plan = get(m, ctx, (takt_plan_options){.sizes = "n=2"});
    takt_session *s;
    EXPECT_OK(ctx, takt_session_create(plan, NULL, &s));
    takt_plan_destroy(plan);
    takt_model_destroy(m);
    takt_ctx_trim(ctx);
    EXPECT(takt_session_input(s, 0) != NULL && takt_session_run(s) == TAKT_OK);
    takt_session_destroy(s);
    takt_ctx_destroy(ctx);
}

/* ---- threads and failures ---- */

typedef struct asker {
    const takt_model *model;
    pthread_t thread;
    int offset, failures;
} asker;

static void *ask(void *user)
{
    asker *a = user;
    for (int i = 0; i < 60; i++) {
        char sizes[32];
        takt_plan *plan;
        snprintf(sizes, sizeof sizes, "n=%d", 1 + (i * 7 + a->offset) % 40);
        const takt_plan_options options = {.sizes = sizes, .threads = 1};
        if (takt_plan_get(a->model, &options, &plan) != TAKT_OK)
            a->failures++;
        takt_plan_destroy(plan);
    }
    return NULL;
}

static void threads_share(void)
{
    enum { THREADS = 4 };
    takt_ctx *ctx;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    takt_model *m = load(ctx, 0);
    asker askers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        askers[i] = (asker){.model = m, .offset = i * 3};
        EXPECT_EQ(pthread_create(&askers[i].thread, NULL, ask, &askers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(askers[i].thread, NULL);
        EXPECT_EQ(askers[i].failures, 0);
    }
    takt_model_destroy(m);
    takt_ctx_destroy(ctx);
}

static takt_status scenario(takt_inject *inject, void *user)
{
    takt_config config = {0};
    takt_ctx *ctx;
    takt_model *m = NULL;
    takt_plan *plan = NULL;
    takt_session *s = NULL, *twin = NULL;
    (void)user;
    takt_inject_config(inject, &config);
    takt_status status = takt_ctx_create(&config, &ctx);
    if (status != TAKT_OK)
        return status;
    status = takt_model_load_memory(ctx, "m", text, strlen(text), NULL, &m);
    if (status == TAKT_OK)
        status = takt_plan_get(m, &(takt_plan_options){.sizes = "n=2", .threads = 1}, &plan);
    if (status == TAKT_OK)
        status = takt_session_create(plan, NULL, &s);
    if (status == TAKT_OK)
        status = takt_session_reshape(s, m, "n=3");
    if (status == TAKT_OK)
        status = takt_session_clone(s, &twin);
    if (status == TAKT_OK)
        status = takt_session_input(twin, 0) != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
    if (status == TAKT_OK)
        status = takt_session_warmup(twin);
    if (status == TAKT_OK)
        status = takt_session_run(twin);
    takt_session_destroy(twin);
    takt_session_destroy(s);
    takt_plan_destroy(plan);
    takt_model_destroy(m);
    takt_ctx_destroy(ctx);
    return status;
}

static void every_failure(void)
{
    const takt_sweep_report r = takt_sweep(scenario, NULL, TAKT_INJECT_MEMORY);
    EXPECT(r.is_good, "%s", r.message);
}

TEST_MAIN(equal_asks_get_one_plan, bounded_and_trimmed, sessions_live_on, threads_share,
          every_failure)
