/* plan_order.c - other orders, rematerialised values, donated and static inputs: less memory or
 * fewer steps, and always the same bits. */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include <takt/takt.h>

#include "plan/plan.h"

static takt_ctx *ctx;

/* Both products are large; in the order of the text they are alive at once. */
static const char branches[] = "model m(x: f32[64, 64]) -> (y: f32[64]) seed=1 {\n"
                               "  param u: f32[64, 1024] = uniform(-1, 1)\n"
                               "  param v: f32[64, 1024] = uniform(-1, 1)\n"
                               "  a = matmul(x, u)\n"
                               "  b = matmul(x, v)\n"
                               "  return y = reduce_max(a, axes=[1]) + reduce_max(b, axes=[1])\n"
                               "}\n";

/* tanh(x) is read early and late; keeping it costs more than making it again. */
static const char kept[] = "model m(x: f32[64, 1024]) -> (y: f32[64]) seed=1 {\n"
                           "  param w: f32[1024, 1024] = uniform(-0.1, 0.1)\n"
                           "  a = tanh(x)\n"
                           "  s = reduce_max(a, axes=[1])\n"
                           "  b = sin(reshape(s, [64, 1]) + x)\n"
                           "  c = reduce_max(matmul(b, w), axes=[1])\n"
                           "  return y = reduce_sum(a * reshape(c, [64, 1]), axes=[1])\n"
                           "}\n";

static const char chain[] = "model m(x: f32[n, 512], w: f32[512]) -> (y: f32[n]) {\n"
                            "  h = tanh(x * exp(w))\n"
                            "  s = reduce_max(h, axes=[1])\n"
                            "  t = cos(h + reshape(s, [n, 1]))\n"
                            "  u = cumsum(t, axis=1)\n"
                            "  return y = reduce_sum(u, axes=[1])\n"
                            "}\n";

static takt_model *load(const char *text)
{
    takt_model *m = NULL;
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", text, strlen(text), NULL, &m));
    return m;
}

typedef struct outcome {
    takt_plan_info info;
    size_t moved, repeated, steps;
    bool input_changed;
    float y[64];
} outcome;

static void fill(float *to, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] = (float)((int)(i * 7919 % 201) - 100) / 64;
}

static void run(takt_session *s, outcome *r)
{
    for (size_t i = 0; i < takt_session_input_count(s); i++) {
        const takt_tensor_view *x = takt_session_input(s, i);
        fill(x->data, (size_t)x->dims[0] * (x->rank > 1 ? (size_t)x->dims[1] : 1));
    }
    EXPECT_OK(ctx, takt_session_run(s));
    const takt_tensor_view *x = takt_session_input(s, 0), *y = takt_session_output(s, 0);
    const size_t count = (size_t)x->dims[0] * (size_t)x->dims[1];
    float *before = malloc(count * sizeof *before);
    fill(before, count);
    r->input_changed = memcmp(before, x->data, count * sizeof *before) != 0;
    free(before);
    memcpy(r->y, y->data, (size_t)y->dims[0] * sizeof *r->y);
}

static outcome outcome_of(const takt_model *m, takt_plan_options options)
{
    outcome r = {.moved = 0};
    takt_plan *plan;
    takt_session *s;
    options.threads = 1;
    if (!EXPECT_OK(ctx, takt_plan_create(m, &options, &plan)))
        return r;
    takt_plan_query(plan, &r.info);
    r.moved = plan->moved_steps;
    r.repeated = plan->repeated_steps;
    r.steps = plan->step_count;
    if (EXPECT_OK(ctx, takt_session_create(plan, NULL, &s)))
        run(s, &r);
    takt_session_destroy(s);
    takt_plan_destroy(plan);
    return r;
}

static void another_order_needs_less(void)
{
    takt_model *m = load(branches);
    const outcome usual = outcome_of(m, (takt_plan_options){0});
    const outcome third = outcome_of(m, (takt_plan_options){.level = 3});
    const outcome memory = outcome_of(m, (takt_plan_options){.hint = "memory"});
    const size_t one = 64 * 1024 * sizeof(float);
    EXPECT_IS(usual.info.arena, >=, 2 * one);
    EXPECT_EQ(usual.moved, 0);
    EXPECT(third.info.arena < usual.info.arena - one / 2, "%llu and %llu",
           (unsigned long long)third.info.arena, (unsigned long long)usual.info.arena);
    EXPECT_IS(third.moved, >, 0);
    EXPECT_EQ(third.repeated, 0);
    EXPECT_IS(memory.info.arena, <=, third.info.arena);
    EXPECT_EQ(memcmp(usual.y, third.y, sizeof usual.y), 0);
    EXPECT_EQ(memcmp(usual.y, memory.y, sizeof usual.y), 0);
    takt_model_destroy(m);
}

static void a_cheap_value_is_made_twice(void)
{
    takt_model *m = load(kept);
    const outcome usual = outcome_of(m, (takt_plan_options){0});
    const outcome third = outcome_of(m, (takt_plan_options){.level = 3});
    const outcome memory = outcome_of(m, (takt_plan_options){.hint = "memory"});
    EXPECT(third.repeated == 0 && memory.repeated > 0, "%zu", memory.repeated);
    EXPECT(memory.info.arena < third.info.arena, "%llu, %llu, %llu",
           (unsigned long long)usual.info.arena, (unsigned long long)third.info.arena,
           (unsigned long long)memory.info.arena);
    EXPECT_EQ(memcmp(usual.y, memory.y, sizeof usual.y), 0);
    takt_model_destroy(m);
}

static void a_donated_input_holds_values(void)
{
    takt_model *m = load(chain);
    const outcome usual = outcome_of(m, (takt_plan_options){.sizes = "n=64"});
    const outcome given = outcome_of(m, (takt_plan_options){.sizes = "n=64", .donate = "x"});
    EXPECT(!usual.input_changed && given.input_changed);
    EXPECT(given.info.arena + 64 * 512 * sizeof(float) <= usual.info.arena, "%llu and %llu",
           (unsigned long long)given.info.arena, (unsigned long long)usual.info.arena);
    EXPECT_EQ(memcmp(usual.y, given.y, sizeof usual.y), 0);
    takt_plan *plan;
    EXPECT_STATUS(ctx,
                  takt_plan_create(m, &(takt_plan_options){.sizes = "n=2", .donate = "q"}, &plan),
                  TAKT_ERR_NOT_FOUND);
    takt_model_destroy(m);
}

static void a_static_input_is_a_constant(void)
{
    static float w[512];
    takt_model *m = load(chain);
    fill(w, 512);
    takt_known_input known = {.name = "w",
                              .view = {.dtype = TAKT_F32, .rank = 1, .dims = {512}, .data = w}};
    takt_plan_options o = {.sizes = "n=64", .fixed = &known, .fixed_count = 1};
    const outcome usual = outcome_of(m, (takt_plan_options){.sizes = "n=64"});
    const outcome fixed = outcome_of(m, o);
    EXPECT(memcmp(usual.y, fixed.y, sizeof usual.y) == 0 && fixed.info.flops < usual.info.flops,
           "%g and %g", fixed.info.flops, usual.info.flops);
    takt_plan *first, *same, *other;
    o.threads = 1;
    EXPECT_OK(ctx, takt_plan_get(m, &o, &first));
    EXPECT_OK(ctx, takt_plan_get(m, &o, &same));
    w[3] += 1; /* another value is another plan */
    EXPECT_OK(ctx, takt_plan_get(m, &o, &other));
    EXPECT_SAME(first, same);
    EXPECT(first != other);
    takt_session *s;
    EXPECT_OK(ctx, takt_session_create(first, NULL, &s));
    EXPECT_EQ(takt_session_input_count(s), 1);
    EXPECT_OK(ctx, takt_session_reshape(s, m, "n=3")); /* with the values at that time */
    takt_session_destroy(s);
    takt_plan_destroy(first);
    takt_plan_destroy(same);
    takt_plan_destroy(other);
    known.view.dims[0] = 511;
    EXPECT_STATUS(ctx, takt_plan_create(m, &o, &first), TAKT_ERR_ARGUMENT);
    known.name = "q";
    EXPECT_STATUS(ctx, takt_plan_create(m, &o, &first), TAKT_ERR_NOT_FOUND);
    known.view.data = NULL;
    EXPECT_STATUS(ctx, takt_plan_create(m, &o, &first), TAKT_ERR_ARGUMENT);
    takt_model_destroy(m);
}

static void throughput_takes_one_thread(void)
{
    takt_model *m = load(branches);
    takt_plan *plan;
    takt_plan_info info;
    EXPECT_OK(ctx, takt_plan_create(m, &(takt_plan_options){.hint = "throughput"}, &plan));
    takt_plan_query(plan, &info);
    EXPECT_EQ(info.threads, 1);
    takt_plan_destroy(plan);
    const takt_plan_options asked = {.hint = "throughput", .threads = 3};
    EXPECT_OK(ctx, takt_plan_create(m, &asked, &plan));
    takt_plan_query(plan, &info);
    EXPECT(info.threads == 3, "what was asked for counts more than a hint");
    takt_plan_destroy(plan);
    EXPECT_STATUS(ctx, takt_plan_create(m, &(takt_plan_options){.hint = "speed"}, &plan),
                  TAKT_ERR_ARGUMENT);
    takt_model_destroy(m);
}

/* Every option that the refusal names keeps the limit, with the bytes that it says. */
static void a_refusal_lists_what_fits(void)
{
    takt_model *m = load(branches);
    takt_plan *plan;
    takt_plan_info info;
    const outcome memory = outcome_of(m, (takt_plan_options){.hint = "memory"});
    takt_plan_options o = {.threads = 1, .memory_limit = memory.info.peak};
    char bytes[64];
    snprintf(bytes, sizeof bytes, "--hint memory (%llu bytes)",
             (unsigned long long)memory.info.peak);
    EXPECT_STATUS(ctx, takt_plan_create(m, &o, &plan), TAKT_ERR_LIMIT);
    EXPECT(strstr(takt_last_error_info(ctx)->hint, bytes) != NULL, "%s",
           takt_last_error_info(ctx)->hint);
    o.hint = "memory";
    if (EXPECT_OK(ctx, takt_plan_create(m, &o, &plan)))
        takt_plan_query(plan, &info);
    EXPECT_EQ(info.peak, o.memory_limit);
    EXPECT_IS(info.arena, <, info.peak);
    takt_plan_destroy(plan);
    o.memory_limit = info.peak - 1; /* one byte too few, weights included */
    EXPECT_STATUS(ctx, takt_plan_create(m, &o, &plan), TAKT_ERR_LIMIT);
    o.memory_limit = 64;
    EXPECT_STATUS(ctx, takt_plan_create(m, &o, &plan), TAKT_ERR_LIMIT);
    takt_model_destroy(m);
    m = load(chain);
    o = (takt_plan_options){.sizes = "n=64", .threads = 1, .memory_limit = 70000};
    EXPECT_STATUS(ctx, takt_plan_create(m, &o, &plan), TAKT_ERR_LIMIT);
    EXPECT(strstr(takt_last_error_info(ctx)->hint, "-D n=") != NULL, "%s",
           takt_last_error_info(ctx)->hint);
    takt_model_destroy(m);
}

int main(void)
{
    if (EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx))) {
        another_order_needs_less();
        a_cheap_value_is_made_twice();
        a_donated_input_holds_values();
        a_static_input_is_a_constant();
        throughput_takes_one_thread();
        a_refusal_lists_what_fits();
    }
    takt_ctx_destroy(ctx);
    return test_done();
}
