/* worth.c - which steps are cut for threads, and into how many tasks: made-up machines. */
#include "test.h"

#include <math.h>
#include <string.h>
#include <takt/takt.h>

#include "backend/cpu/worth.h"
#include "plan/plan.h"

/* A microsecond to call others, a quarter more for each. */
static const takt_worth slow_call = {1e4, 2e4, 1, 0.25};

static void threads_of(void)
{
    static const struct {
        double us;
        size_t of_2, of_8, of_16, tasks_of_16;
    } cases[] = {{0, 1, 1, 1, 1},         {1, 1, 1, 1, 1},     {3, 1, 1, 1, 1},
                 {3.7, 1, 4, 4, 4},       {4, 2, 4, 4, 4},     {9, 2, 6, 6, 6},
                 {16, 2, 8, 8, 8},        {36, 2, 8, 12, 12},  {64, 2, 8, 16, 16},
                 {159, 2, 8, 16, 16},     {160, 2, 8, 16, 32}, {10000, 2, 8, 16, 64},
                 {INFINITY, 2, 8, 16, 64}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const double us = cases[i].us;
        const size_t two = takt_worth_threads(&slow_call, us, 2),
                     eight = takt_worth_threads(&slow_call, us, 8),
                     sixteen = takt_worth_threads(&slow_call, us, 16);
        EXPECT(two == cases[i].of_2 && eight == cases[i].of_8 && sixteen == cases[i].of_16,
               "%g us: %zu of 2 threads, %zu of 8, %zu of 16", us, two, eight, sixteen);
        EXPECT(takt_worth_tasks(&slow_call, us, 16) == cases[i].tasks_of_16, "%g us: %zu tasks", us,
               takt_worth_tasks(&slow_call, us, 16));
        EXPECT(takt_worth_threads(&slow_call, us, 1) == 1 &&
               takt_worth_tasks(&slow_call, us, 1) == 1);
    }
}

/* Whatever the machine: by its own figures others are called only where that is shorter by a tenth,
 * and longer work never has fewer of them. */
static void never_longer(void)
{
    enum { SETS = 4 };
    static const takt_isa_set sets[SETS] = {1, 1 | 1u << TAKT_ISA_neon, 1 | 1u << TAKT_ISA_avx2,
                                            1 | 1u << TAKT_ISA_avx2 | 1u << TAKT_ISA_avx512};
    static const size_t threads[] = {2, 3, 8, 16, 192};
    for (size_t s = 0; s < SETS; s++)
        for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
            const takt_worth *w = takt_worth_of(sets[s]);
            size_t before = 1;
            for (double us = 0.1; us < 1e6; us *= 1.3) {
                const size_t n = takt_worth_threads(w, us, threads[t]);
                const double all = us / (double)n + w->call_us + (double)n * w->each_us;
                EXPECT(n >= before && n <= threads[t] && (n == 1 || all <= 0.9 * us),
                       "%g us: %zu of %zu threads after %zu, %g us", us, n, threads[t], before,
                       all);
                before = n;
            }
            EXPECT(before == threads[t] && takt_worth_threads(w, 0.5, threads[t]) == 1);
        }
}

static void by_the_slower(void)
{
    EXPECT(takt_worth_us(&slow_call, 1e6, 1e6) == 100 && takt_worth_us(&slow_call, 1e5, 1e6) == 50);
    EXPECT(takt_worth_of(1) != takt_worth_of(1u << TAKT_ISA_avx512 | 1));
    EXPECT(takt_worth_of(1u << TAKT_ISA_avx512 | 1u << TAKT_ISA_avx2)->flops_per_us >
           takt_worth_of(1u << TAKT_ISA_avx2)->flops_per_us);
}

/* One product of half a microsecond, one of some, a long one: by one thread, some, all. */
static void steps(void)
{
    static const char text[] =
        "model m(x: f32[1, 40]) seed=1 {\n"
        "  param a: f32[40, 30] = normal(0, 0.1)\n  param b: f32[30, 1200] = normal(0, 0.1)\n"
        "  param c: f32[1200, 3000] = normal(0, 0.1)\n"
        "  y = op.matmul(x, a)\n  z = op.matmul(y, b)\n  return op.matmul(z, c)\n}\n";
    static const size_t threads[] = {1, 2, 8, 16};
    takt_ctx *ctx;
    takt_model *model;
    takt_plan *plan;
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return;
    if (EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", text, strlen(text), NULL, &model))) {
        for (size_t i = 0; i < 4; i++) {
            const takt_plan_options o = {.threads = (int)threads[i], .isa = "scalar"};
            if (!EXPECT_OK(ctx, takt_plan_create(model, &o, &plan)))
                continue;
            const size_t a = plan->steps[0].task_count, b = plan->steps[1].task_count,
                         c = plan->steps[2].task_count;
            EXPECT(plan->step_count == 3 && a == 1, "%zu steps, %zu tasks", plan->step_count, a);
            EXPECT(threads[i] < 16 ? b == threads[i] : b > 4 && b < 16, "%zu tasks", b);
            EXPECT(c >= threads[i] && (c > 1) == (threads[i] > 1), "%zu tasks", c);
            takt_plan_destroy(plan);
        }
        takt_model_destroy(model);
    }
    takt_ctx_destroy(ctx);
}

int main(void)
{
    threads_of();
    never_longer();
    by_the_slower();
    steps();
    return test_done();
}
