/* trainer_memory.c - the memory of a training step, and what it is traded for. */
#include <string.h>

#include <takt/takt.h>

#include "../test.h"
#include "base/error.h"

static takt_ctx *ctx;

static const char deep[] = "model deep(x: f32[batch, 12]) seed=1 {\n"
                           "  h = x\n"
                           "  repeat 12 as k { h = dense(h, 64, act=gelu) }\n"
                           "  return dense(h, 4)\n}\n";
enum { ROWS = 4096, MANY_ROWS = 65536, WIDTH = 12 };
static int64_t rows = ROWS;
static double seconds; /* of a step, as estimated for the last plan */

static takt_model *load(void)
{
    takt_model *m = NULL;
    const takt_load_options o = {.training = true};
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "m.takt", deep, strlen(deep), &o, &m));
    return m;
}

/* Plans a step; the arena's bytes, 0 after a failure. */
static uint64_t arena_of(const takt_model *m, const takt_plan_options *plan, const char *amp)
{
    takt_trainer *t = NULL;
    takt_plan_info info = {0};
    const takt_train_options o = {.optimizer = "adam", .amp = amp, .plan = plan};
    takt_named_view views[2] = {{.name = "x"}, {.name = "labels"}};
    views[0].view = (takt_tensor_view){.dtype = TAKT_F32, .rank = 2, .dims = {rows, WIDTH}};
    views[1].view = (takt_tensor_view){.dtype = TAKT_I64, .rank = 1, .dims = {rows}};
    if (!EXPECT_OK(ctx, takt_trainer_create(m, &o, &t)))
        return 0;
    const takt_status status = takt_trainer_plan(t, views, 2, &info);
    seconds = takt_trainer_estimate(t);
    takt_trainer_destroy(t);
    return status == TAKT_OK ? info.arena : 0;
}

/* Activations and their gradients take half the bytes; values widened for a product do not. */
static void mixed_precision(const takt_model *m)
{
    const takt_plan_options plan = {.threads = 1};
    const uint64_t wide = arena_of(m, &plan, NULL);
    const char *const types[] = {"bf16", "f16"};
    for (size_t k = 0; k < 2; k++) {
        const uint64_t narrow = arena_of(m, &plan, types[k]);
        EXPECT(narrow > 0 && (double)narrow < 0.75 * (double)wide, "f32 %llu, %s %llu",
               (unsigned long long)wide, types[k], (unsigned long long)narrow);
    }
}

/* Less memory from 1 down to 0, and the limits in between are kept. */
static void tradeoffs(const takt_model *m)
{
    static const char *const words[] = {"1", "0.7", "0.4", "0"};
    uint64_t arena[4];
    for (size_t i = 0; i < 4; i++) {
        const takt_plan_options plan = {.threads = 1, .tradeoff = words[i]};
        arena[i] = arena_of(m, &plan, NULL);
        EXPECT(arena[i] > 0 && (i == 0 || arena[i] < arena[i - 1]), "%s: %llu", words[i],
               (unsigned long long)arena[i]);
        const double share = (double)(arena[0] - arena[i]) / (double)(arena[0] - arena[3] + 1);
        EXPECT(i == 0 || arena[3] == 0 || share <= 1);
    }
    const takt_plan_options plan = {.threads = 1, .tradeoff = "0.4"};
    const double least = (double)arena[3], most = (double)arena[0];
    EXPECT((double)arena[2] <= least + 0.45 * (most - least), "%llu of %g to %g",
           (unsigned long long)arena_of(m, &plan, NULL), least, most);
    takt_plan_options limit = {.threads = 1, .activation_limit = arena[2]};
    EXPECT_IS(arena_of(m, &limit, NULL), <=, arena[2]);
    limit.activation_limit = arena[3] / 2;
    EXPECT(arena_of(m, &limit, NULL) == 0 && takt_last_error_info(ctx)->id == TAKT_E_PLAN_LIMIT &&
               strstr(takt_last_error(ctx), "activations") != NULL,
           "%s", takt_last_error(ctx));
    const takt_plan_options wrong[] = {{.tradeoff = "1.5"}, {.tradeoff = "fast"}};
    for (size_t i = 0; i < 2; i++)
        EXPECT(arena_of(m, &wrong[i], NULL) == 0 && takt_last_error_info(ctx)->id == TAKT_E_OPTION,
               "%s", takt_last_error(ctx));
}

/* A large step gives some time for much memory, unless told otherwise; a small one does not. */
static void by_default(const takt_model *m)
{
    const takt_plan_options usual = {.threads = 1}, fastest = {.threads = 1, .tradeoff = "1"};
    const takt_schedule_opts off = {0};
    takt_plan_options none = usual;
    EXPECT(arena_of(m, &usual, NULL) == arena_of(m, &fastest, NULL));
    rows = MANY_ROWS;
    const uint64_t most = arena_of(m, &fastest, NULL);
    const double least_time = seconds;
    const uint64_t own = arena_of(m, &usual, NULL);
    EXPECT((double)own < 0.7 * (double)most, "%llu of %llu bytes", (unsigned long long)own,
           (unsigned long long)most);
    EXPECT(seconds > least_time && seconds < 1.1 * least_time, "%g s, not %g", seconds, least_time);
    EXPECT_OK(ctx, takt_opts_schedule(ctx, &none, &off));
    EXPECT(arena_of(m, &none, NULL) == most);
    rows = ROWS;
}

static void schedules(const takt_model *m)
{
    takt_plan_options plan = {.threads = 1};
    const takt_schedule_opts off = {0},
                             least = {.enable_checkpointing = true, .recompute_activations = true};
    const takt_schedule_opts some = {.enable_checkpointing = true,
                                     .memory_speed_tradeoff = 0.4,
                                     .max_activation_memory = 1 << 30};
    const takt_plan_options words[] = {{.threads = 1, .tradeoff = "1"},
                                       {.threads = 1, .tradeoff = "0"},
                                       {.threads = 1, .tradeoff = "0.4"}};
    const takt_schedule_opts *const all[] = {&off, &least, &some};
    for (size_t i = 0; i < 3; i++) {
        EXPECT_OK(ctx, takt_opts_schedule(ctx, &plan, all[i]));
        EXPECT(arena_of(m, &plan, NULL) == arena_of(m, &words[i], NULL), "%zu", i);
    }
    EXPECT_EQ(plan.activation_limit, 1 << 30);
    const takt_schedule_opts wrong[] = {
        {.memory_speed_tradeoff = 0.5},
        {.recompute_activations = true},
        {.max_activation_memory = 1},
        {.enable_checkpointing = true, .memory_speed_tradeoff = -1}};
    for (size_t i = 0; i < 4; i++)
        EXPECT(takt_opts_schedule(ctx, &plan, &wrong[i]) == TAKT_ERR_ARGUMENT &&
               takt_last_error_info(ctx)->id == TAKT_E_OPTION);
    EXPECT_STATUS(NULL, takt_opts_schedule(ctx, NULL, &off), TAKT_ERR_ARGUMENT);
}

int main(void)
{
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return test_done();
    takt_model *m = load();
    if (m != NULL) {
        mixed_precision(m);
        tradeoffs(m);
        by_default(m);
        schedules(m);
    }
    takt_model_destroy(m);
    takt_ctx_destroy(ctx);
    return test_done();
}
