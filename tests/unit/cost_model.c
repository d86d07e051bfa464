/* cost_model.c - which steps are cut for threads, and into how many tasks: made-up machines. */
#include "test.h"

#include <math.h>
#include <string.h>
#include <takt/takt.h>

#include "backend/cpu/cost_model.h"
#include "plan/plan.h"

/* A microsecond to call others, a quarter more for each. */
static const takt_cost_model slow_call = {1e4, 2e4, 1e4, 1e4, 1, 0.25, 0.9, 4, 1};

/* Tasks for 2, 8 and 16 threads: none, some, half of many, or several for each. */
static void tasks_of(void)
{
    static const struct {
        double us;
        size_t of_2, of_8, of_16;
    } cases[] = {{0, 1, 1, 1},    {1, 1, 1, 1},    {3, 1, 1, 1},     {3.7, 1, 4, 4},
                 {4, 2, 4, 4},    {9, 2, 4, 6},    {16, 2, 4, 8},    {20, 4, 4, 8},
                 {31, 6, 4, 8},   {32, 6, 16, 8},  {48, 8, 24, 8},   {63, 8, 24, 8},
                 {64, 8, 32, 32}, {96, 8, 32, 48}, {1e4, 8, 32, 64}, {INFINITY, 8, 32, 64}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const double us = cases[i].us;
        const size_t two = takt_cost_model_tasks(&slow_call, us, 2),
                     eight = takt_cost_model_tasks(&slow_call, us, 8),
                     sixteen = takt_cost_model_tasks(&slow_call, us, 16);
        EXPECT(two == cases[i].of_2 && eight == cases[i].of_8 && sixteen == cases[i].of_16,
               "%g us: %zu tasks for 2 threads, %zu for 8, %zu for 16", us, two, eight, sixteen);
        EXPECT_EQ(takt_cost_model_tasks(&slow_call, us, 1), 1);
    }
}

/* On any machine: by its own figures, more threads are used only where they save enough time, and
 * longer work never has fewer tasks. */
static void never_longer(void)
{
    enum { SETS = 5 };
    static const takt_isa_set x86 = 1 | 1u << TAKT_ISA_avx2;
    static const takt_isa_set sets[SETS] = {1, 1 | 1u << TAKT_ISA_neon, x86,
                                            x86 | 1u << TAKT_ISA_avx512,
                                            x86 | 1u << TAKT_ISA_avx512 | 1u << TAKT_ISA_amx};
    static const size_t threads[] = {2, 3, 7, 8, 16, 192};
    for (size_t s = 0; s < SETS; s++)
        for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
            const takt_cost_model *w = takt_cost_model_of(sets[s]);
            size_t before = 1;
            for (double us = 0.1; us < 1e6; us *= 1.3) {
                const size_t tasks = takt_cost_model_tasks(w, us, threads[t]);
                const double n = (double)(tasks < threads[t] ? tasks : threads[t]);
                const double all = us / n + w->call_us + n * w->each_us;
                EXPECT(tasks >= before && (tasks == 1 || all <= w->gain * us),
                       "%g us, %zu threads: %zu tasks after %zu, %g us", us, threads[t], tasks,
                       before, all);
                before = tasks;
            }
            EXPECT_EQ(before, 4 * threads[t]);
            EXPECT_EQ(takt_cost_model_tasks(w, 0.5, threads[t]), 1);
        }
}

static void by_the_slower(void)
{
    EXPECT_EQ(takt_cost_model_us(&slow_call, 1e6, 1e6), 100);
    EXPECT_EQ(takt_cost_model_us(&slow_call, 1e5, 1e6), 50);
    /* A megabyte from near by, two from far away. */
    EXPECT_EQ(takt_cost_model_us(&slow_call, 0, 3 << 20), (1 << 20) / 2e4 + (2 << 20) / 1e4);
    EXPECT(takt_cost_model_of(1) != takt_cost_model_of(1u << TAKT_ISA_avx512 | 1));
    EXPECT(takt_cost_model_of(1u << TAKT_ISA_avx512 | 1u << TAKT_ISA_avx2)->flops_per_us >
           takt_cost_model_of(1u << TAKT_ISA_avx2)->flops_per_us);
}

/* Tasks of each step of a model for a number of threads; scalar code, so that it is the same
 * everywhere. */
static void count_tasks(takt_ctx *ctx, const char *text, int threads, size_t *tasks, size_t count)
{
    takt_model *model;
    takt_plan *plan;
    const takt_plan_options o = {.threads = threads, .isa = "scalar"};
    memset(tasks, 0, count * sizeof *tasks);
    if (!EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", text, strlen(text), NULL, &model)))
        return;
    if (EXPECT_OK(ctx, takt_plan_create(model, &o, &plan))) {
        EXPECT(plan->step_count == count, "%zu steps", plan->step_count);
        for (size_t i = 0; i < count && i < plan->step_count; i++)
            tasks[i] = plan->steps[i].task_count;
        takt_plan_destroy(plan);
    }
    takt_model_destroy(model);
}

/* Products of half a microsecond, of a few, and a long one: with one thread, some, all. And a short
 * step is divided if the previous one was: its inputs are in several caches. */
static void steps(void)
{
    static const char products[] =
        "model m(x: f32[1, 40]) seed=1 {\n"
        "  param a: f32[40, 30] = normal(0, 0.1)\n  param b: f32[30, 1200] = normal(0, 0.1)\n"
        "  param c: f32[1200, 3000] = normal(0, 0.1)\n"
        "  y = op.matmul(x, a)\n  z = op.matmul(y, b)\n  return op.matmul(z, c)\n}\n";
    static const char move[] = "model m(x: f32[68, 50]) { return op.transpose(x, perm=[1, 0]) }\n";
    static const char moved[] = "model m(x: f32[68, 64]) seed=1 {\n"
                                "  param w: f32[64, 50] = normal(0, 0.1)\n"
                                "  return op.transpose(op.matmul(x, w), perm=[1, 0])\n}\n";
    static const int threads[] = {1, 2, 8, 16};
    takt_ctx *ctx;
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return;
    for (size_t i = 0; i < 4; i++) {
        size_t t[3];
        const size_t n = (size_t)threads[i];
        count_tasks(ctx, products, threads[i], t, 3);
        EXPECT(t[0] == 1 && (n == 1 ? t[1] == 1 : t[1] > 1 && t[1] <= (n < 8 ? n : n / 2)) &&
                   t[2] >= n && (t[2] > 1) == (n > 1),
               "%zu threads: %zu, %zu, %zu tasks", n, t[0], t[1], t[2]);
        count_tasks(ctx, move, threads[i], t, 1);
        count_tasks(ctx, moved, threads[i], t + 1, 2);
        EXPECT(t[0] == 1 && (t[1] > 1) == (n > 1) && (t[2] > 1) == (n > 1),
               "%zu threads: %zu task alone, %zu after %zu", n, t[0], t[2], t[1]);
    }
    takt_ctx_destroy(ctx);
}

int main(void)
{
    tasks_of();
    never_longer();
    by_the_slower();
    steps();
    return test_done();
}
