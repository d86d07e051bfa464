/* plan_share.c - plans of one model share packed weights, which are freed with the last plan.
 */
#include "test.h"

#include <pthread.h>
#include <string.h>

#include <takt/takt.h>

#include "api/backends.h"
#include "backend/list.h"
#include "base/ctx.h"
#include "plan/plan.h"

/* Large enough for the weights to outweigh everything else; the scale is folded into them. */
static const char text[] = "model m(x: f32[n, 300]) -> (y: f32[n, 400]) seed=3 {\n"
                           "  h = dense(x, 400, act=relu)\n"
                           "  return y = dense(h, 400) * 0.5\n"
                           "}\n";

static takt_ctx *ctx;

static takt_model *load(uint64_t seed)
{
    takt_model *m = NULL;
    const takt_load_options options = {.seed = seed};
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", text, strlen(text), &options, &m));
    return m;
}

static takt_plan *plan_of(const takt_model *m, const char *sizes, int threads)
{
    takt_plan *plan;
    EXPECT_OK(ctx,
              takt_plan_create(m, &(takt_plan_options){.sizes = sizes, .threads = threads}, &plan));
    return plan;
}

static uint64_t packed_of(const takt_plan *plan)
{
    takt_plan_info info;
    takt_plan_query(plan, &info);
    return info.packed;
}

static void second_plan_brings_no_weights(void)
{
    takt_model *m = load(0), *same = load(0), *other = load(7);
    for (int i = 0; i < 3; i++) /* a model notes sizes when its first plan is made */
        takt_plan_destroy(plan_of(i == 0 ? m : i == 1 ? same : other, "n=5", 1));
    const uint64_t none = ctx->live_bytes;
    takt_plan *one = plan_of(m, "n=1", 1);
    const uint64_t first = ctx->live_bytes;
    takt_plan *eight = plan_of(m, "n=8", 2), *twin = plan_of(same, "n=3", 1);
    const uint64_t third = ctx->live_bytes;
    const uint64_t packed = packed_of(one);
    EXPECT_IS(packed, >, 1000000);
    EXPECT_EQ(packed_of(eight), packed);
    EXPECT_IS(first - none, >, packed);
    EXPECT(third - first < packed / 10, "two more plans take %llu bytes; packed are %llu",
           (unsigned long long)(third - first), (unsigned long long)packed);
    takt_plan *apart = plan_of(other, "n=1", 1);
    EXPECT(ctx->live_bytes - third > packed, "other weights are other bytes");
    takt_plan_destroy(apart);
    takt_plan_destroy(one);
    takt_plan_destroy(eight);
    EXPECT(ctx->live_bytes - none > packed, "the last plan still has its weights");
    takt_session *s;
    EXPECT_OK(ctx, takt_session_create(twin, NULL, &s));
    EXPECT(takt_session_input(s, 0) != NULL && takt_session_run(s) == TAKT_OK);
    takt_session_destroy(s);
    takt_plan_destroy(twin);
    EXPECT(ctx->live_bytes == none, "%lld bytes stay behind", (long long)(ctx->live_bytes - none));
    takt_model_destroy(m);
    takt_model_destroy(same);
    takt_model_destroy(other);
}

static void *come_and_go(void *user)
{
    const takt_model *m = user;
    takt_plan *plan;
    for (int i = 0; i < 25; i++) {
        const char *sizes = i % 2 == 0 ? "n=1" : "n=2";
        const takt_plan_options o = {.sizes = sizes, .threads = 1};
        EXPECT_OK(NULL, takt_plan_create(m, &o, &plan));
        takt_plan_destroy(plan);
    }
    return NULL;
}

static void plans_come_and_go_at_once(void)
{
    enum { THREADS = 3 };
    takt_model *m = load(0);
    pthread_t threads[THREADS];
    takt_plan_destroy(plan_of(m, "n=1", 1));
    const uint64_t none = ctx->live_bytes;
    for (int i = 0; i < THREADS; i++)
        EXPECT_EQ(pthread_create(&threads[i], NULL, come_and_go, m), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    EXPECT(ctx->live_bytes == none, "%lld bytes stay behind", (long long)(ctx->live_bytes - none));
    EXPECT_SAME(ctx->shares, NULL);
    takt_model_destroy(m);
}

/* A size of 1 is substituted before the passes, so its graph differs. Its weights are the same:
 * nothing is packed, folded or copied again, not even for a moment. */
static void one_and_more_share(void)
{
    takt_model *m = load(0);
    takt_plan_destroy(plan_of(m, "n=5", 1));
    for (int turn = 0; turn < 2; turn++) {
        takt_plan *first = plan_of(m, turn == 0 ? "n=1" : "n=2", 1);
        const uint64_t packed = packed_of(first), before = ctx->live_bytes;
        ctx->peak_bytes = before;
        takt_plan *second = plan_of(m, turn == 0 ? "n=2" : "n=1", 1);
        EXPECT(first->basis != second->basis, "one graph: nothing is shown");
        EXPECT_EQ(packed_of(second), packed);
        EXPECT(ctx->peak_bytes - before < packed / 4, "%llu bytes more, packed are %llu",
               (unsigned long long)(ctx->peak_bytes - before), (unsigned long long)packed);
        takt_plan_destroy(first);
        const uint64_t left = ctx->live_bytes; /* the second plan holds the packs that it found */
        ctx->peak_bytes = left;
        takt_plan *third = plan_of(m, turn == 0 ? "n=1" : "n=3", 1);
        EXPECT(ctx->peak_bytes - left < packed / 4, "packed again");
        takt_plan_destroy(second);
        takt_plan_destroy(third);
    }
    takt_model_destroy(m);
}

/* Other options may pack the same bytes differently: such packs are separate. */
static void options_stay_apart(void)
{
    takt_model *m = load(0);
    takt_plan *all, *plain;
    const takt_plan_options o = {.sizes = "n=1", .threads = 1, .isa = "scalar"};
    EXPECT_OK(ctx, takt_plan_create(m, &o, &plain));
    all = plan_of(m, "n=2", 1);
    takt_session *one, *two;
    EXPECT_OK(ctx, takt_session_create(plain, NULL, &one));
    EXPECT_OK(ctx, takt_session_create(all, NULL, &two));
    const takt_tensor_view *x = takt_session_input(one, 0), *z = takt_session_input(two, 0);
    for (size_t i = 0; i < 300; i++)
        ((float *)x->data)[i] = ((float *)z->data)[i] = ((float *)z->data)[300 + i] =
            (float)i / 77 - 2;
    EXPECT_OK(ctx, takt_session_run(one));
    EXPECT_OK(ctx, takt_session_run(two));
    EXPECT(memcmp(takt_session_output(one, 0)->data, takt_session_output(two, 0)->data, 1600) == 0,
           "a pack of other instructions was read");
    takt_session_destroy(one);
    takt_session_destroy(two);
    takt_plan_destroy(plain);
    takt_plan_destroy(all);
    takt_model_destroy(m);
}

/* ---- constants that are computed ---- */

static int depth, deepest, compiled;

static takt_status compile_alone(takt_planner *p)
{
    depth++;
    deepest = depth > deepest ? depth : deepest;
    const takt_status status = takt_backend_cpu.compile(p);
    depth--;
    compiled++;
    return status;
}

/* A step that requests a constant is compiled completely before the constant's own steps. */
static void asking_compiles_nothing(void)
{
    static const char computed[] =
        "model m(x: f32[n, 64], i: i64[2]) -> (y: f32[n, 48], z: f32[2, 48], c: f32[48, 64]) {\n"
        "  base = constant(f32[48, 1], 0.5)\n"
        "  ramp = cast(op.iota(shape=[48, 64], axis=1), dtype=f32)\n"
        "  w = sqrt(base + ramp) * 0.01\n"
        "  half = op.gather(w, i, axis=0)\n"
        "  return y = op.matmul(x, w, transpose_b=true) + op.reduce_sum(w),\n"
        "    z = op.matmul(half, w, transpose_b=true), c = w\n}\n";
    takt_backend alone = takt_backend_cpu;
    alone.name = "alone";
    alone.compile = compile_alone;
    takt_model *m = NULL;
    takt_plan *plan = NULL, *other = NULL;
    EXPECT_OK(ctx, takt_backend_add(ctx, &alone));
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", computed, strlen(computed), NULL, &m));
    takt_plan_options o = {.sizes = "n=3", .threads = 1, .backend = "alone"};
    EXPECT_OK(ctx, takt_plan_create(m, &o, &plan));
    EXPECT(plan != NULL && compiled > (int)plan->step_count, "%d compiled: no constant", compiled);
    EXPECT(deepest == 1, "a step was compiled inside another one");
    const int first = compiled;
    o.sizes = "n=4"; /* constants are there already */
    EXPECT_OK(ctx, takt_plan_create(m, &o, &other));
    EXPECT(other != NULL && compiled - first <= (int)other->step_count, "%d, then %d", first,
           compiled - first);
    takt_plan_destroy(plan);
    takt_plan_destroy(other);
    takt_model_destroy(m);
}

int main(void)
{
    if (EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx))) {
        second_plan_brings_no_weights();
        one_and_more_share();
        options_stay_apart();
        plans_come_and_go_at_once();
        asking_compiles_nothing();
    }
    takt_ctx_destroy(ctx);
    return test_done();
}
