/* lengths_bound.c - how large a size can be that follows from other sizes: never too small. */
#include <stdio.h>
#include <string.h>

#include <takt/takt.h>

#include "base/error.h"
#include "plan/plan.h"
#include "test.h"
#include "util/inject.h"

/* Expressions of `f`, the size n from 1 to 300, or of `v`, a value from 0 to 10, and their maximum;
 * 0: unknown. */
static const struct {
    const char *size;
    int64_t most;
} cases[] = {
    {"cast(not(cast(f - 5.0, dtype=bool)), dtype=i64) * 5", 5}, /* where n is 5 */
    {"cast(sqrt(f - 5.0) * 2.0, dtype=i64)", 0},                /* NaN at the low end */
    {"cast(sqrt(f - 5.0), dtype=i64)", 0},
    {"cast(sqrt(10.0 - f) * 2.0, dtype=i64)", 0},                 /* at the high end */
    {"cast(cast(cast(f, dtype=i64), dtype=u8), dtype=i64)", 255}, /* where n is that */
    {"cast(cast(cast(f, dtype=i64), dtype=i32), dtype=i64)", 300},
    {"cast(cast(f - 1.0, dtype=bool), dtype=i64) * 5", 5},
    {"cast(sqrt(f) * 2.0, dtype=i64)", 34},
    {"cast(10.0 - f, dtype=i64)", 9},
    {"cast(select(lt(f, 10.0), f * 2.0, 7.0 - f), dtype=i64)", 600}, /* either side */
    {"cast(v, dtype=i64)", 10},
    {"cast(floor(v * 0.7), dtype=i64)", 7},           /* rounds up to 7 in f32 */
    {"(cast(v, dtype=i64) - 11) / 8 + 3", 3},         /* -1 / 8 is 0 */
    {"cast(cast(v, dtype=u8) - 11, dtype=i64)", 255}, /* wraps below 0 */
    {"cast(cast(v, dtype=u8) * 30, dtype=i64)", 255},
    {"cast(reduce_max(get(sort(cut), index=0), axes=[0]), dtype=i64)", 10},
    {"reduce_max(get(sort(cut), index=1), axes=[0])", 0}, /* where it was */
};

static takt_status make(takt_ctx *ctx, const char *size, takt_plan **plan)
{
    static const char form[] =
        "model m(x: f32[n]) {\n"
        "  f = cast(dim(x, axis=0), dtype=f32)\n"
        "  cut = clip(x, min=0.0, max=10.0)\n"
        "  v = reduce_max(cut, axes=[0])\n"
        "  l = length(reshape(%s, shape=[1]), names=[k], bounds=[9223372036854775807],\n"
        "    tops=[9223372036854775807])\n"
        "  return y = broadcast(constant(f32[], [0]), shape=[k])\n"
        "}\n";
    char text[512];
    takt_model *m = NULL;
    snprintf(text, sizeof text, form, size);
    takt_status status = takt_model_load_memory(ctx, "m", text, strlen(text), NULL, &m);
    const takt_plan_options o = {.threads = 1, .sizes = "n=1..300"};
    if (status == TAKT_OK)
        status = takt_plan_create(m, &o, plan);
    takt_model_destroy(m);
    return status;
}

static void bounds(void)
{
    takt_ctx *ctx;
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        takt_plan *plan = NULL;
        const takt_status status = make(ctx, cases[i].size, &plan);
        int64_t most = 0;
        for (size_t k = 0; status == TAKT_OK && k < plan->name_count; k++)
            most = plan->ranges[k].is_length ? plan->ranges[k].high : most;
        if (cases[i].most == 0)
            EXPECT(status != TAKT_OK && takt_last_error_info(ctx)->id == TAKT_E_LENGTH_OPEN,
                   "%s: at most %lld", cases[i].size, (long long)most);
        else
            EXPECT(most == cases[i].most, "%s: at most %lld", cases[i].size, (long long)most);
        takt_plan_destroy(plan);
    }
    takt_ctx_destroy(ctx);
}

static takt_status scenario(takt_inject *inject, void *user)
{
    takt_config config = {0};
    takt_ctx *ctx;
    takt_plan *plan = NULL;
    takt_inject_config(inject, &config);
    takt_status status = takt_ctx_create(&config, &ctx);
    if (status != TAKT_OK)
        return status;
    status = make(ctx, user, &plan);
    takt_plan_destroy(plan);
    takt_ctx_destroy(ctx);
    return status;
}

static void sweep(void)
{
    static const char *const sizes[] = {
        "cast((f + 9.0) * (400.0 - f), dtype=i64)",
        "cast(select(lt(f, 10.0), f * 2.0, 7.0 - f), dtype=i64)",
        "cast(min(floor(v * 0.7), f), dtype=i64)",
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const takt_sweep_report r = takt_sweep(scenario, (void *)sizes[i], TAKT_INJECT_MEMORY);
        EXPECT(r.is_good, "%s: %s", sizes[i], r.message);
    }
}

int main(void)
{
    bounds();
    sweep();
    return test_done();
}
