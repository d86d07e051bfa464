/* output_kept.c - the caller may keep a session's output, and give it to the next run, while the
 * output is bound elsewhere, although it lies in the arena. */
#include "test.h"

#include <string.h>

#include <takt/takt.h>

#include "plan/plan.h"
#include "util/meter.h"

static meter memory;
static bool is_empty;
static takt_ctx *ctx;
static takt_plan *plan;

static const char text[] = "model l(h: f32[8, 64], x: f32[8, 64]) seed=2 {\n"
                           "  a = dense(h, 64, act=tanh)\n"
                           "  b = dense(x, 64, act=tanh)\n"
                           "  c = dense(a, 64, act=relu) |> dense(64)\n"
                           "  e = softmax(c) + dense(b, 64, act=tanh)\n"
                           "  return hn = dense(e + a * b, 64) + h\n"
                           "}\n";
enum { N = 8 * 64, BYTES = N * 4, STEPS = 5 };
static float x[N], zero[N], want[STEPS][N];

static takt_status bind(takt_session *s, const char *name, float *data)
{
    const takt_tensor_view v = {.data = data, .dtype = TAKT_F32, .rank = 2, .dims = {8, 64}};
    return takt_session_bind(s, name, &v);
}

static void run(takt_session *s, float *h, float *hn)
{
    EXPECT_OK(ctx, bind(s, "h", h));
    EXPECT_OK(ctx, bind(s, "hn", hn));
    EXPECT_OK(ctx, takt_session_run(s));
}

static takt_session *made(takt_session_options options)
{
    takt_session *s = NULL;
    EXPECT_OK(ctx, takt_session_create(plan, &options, &s));
    EXPECT_OK(ctx, bind(s, "x", x));
    return s;
}

static void *get(void *user, size_t size, size_t align)
{
    return is_empty ? NULL : meter_get(user, size, align);
}

/* The state goes to and fro between the session's own memory and a buffer. */
static void ping_pong(takt_session_options options)
{
    const bool has_pages = options.huge_pages != TAKT_HUGE_AUTO;
    takt_session *s = made(options);
    float buffer[N];
    run(s, zero, NULL);
    float *own = takt_session_output(s, 0)->data;
    const uint64_t before = takt_session_held(s);
    EXPECT_EQ(memcmp(own, want[0], BYTES), 0);
    for (int i = 1; i < STEPS; i++) {
        const bool is_back = i % 2 == 0;
        run(s, is_back ? buffer : own, is_back ? NULL : buffer);
        EXPECT_EQ(memcmp(is_back ? own : buffer, want[i], BYTES), 0);
        EXPECT_EQ(memcmp(is_back ? buffer : own, want[i - 1], BYTES), 0); /* it is kept */
    }
    EXPECT(takt_session_output(s, 0)->data == own, "the session's memory is elsewhere now");
    EXPECT(takt_session_held(s) >= before + plan->arena_bytes, "a second arena is not counted");
    EXPECT(has_pages || takt_session_held(s) == before + plan->arena_bytes, "or more than it");
    takt_session_destroy(s);
}

/* An output that the caller has never seen, as of a warm-up, costs no second arena. */
static void no_more_than_needed(void)
{
    takt_session *s = made((takt_session_options){0});
    float buffer[N];
    EXPECT_OK(ctx, takt_session_warmup(s));
    const uint64_t before = takt_session_held(s);
    run(s, zero, buffer);
    EXPECT_EQ(takt_session_held(s), before);
    EXPECT_EQ(memcmp(buffer, want[0], BYTES), 0);
    takt_session_destroy(s);
}

static void warmup_keeps_it(void)
{
    takt_session *s = made((takt_session_options){0});
    run(s, zero, NULL);
    const float *own = takt_session_output(s, 0)->data;
    EXPECT_OK(ctx, bind(s, "h", NULL)); /* no data: the warm-up does not run */
    EXPECT_OK(ctx, takt_session_warmup(s));
    EXPECT_EQ(memcmp(own, want[0], BYTES), 0);
    takt_session_destroy(s);
}

/* Nothing is bound then, and the session runs on. */
static void no_memory(void)
{
    takt_session *s = made((takt_session_options){0});
    float buffer[N];
    run(s, zero, NULL);
    float *own = takt_session_output(s, 0)->data;
    is_empty = true;
    EXPECT_EQ(bind(s, "hn", buffer), TAKT_ERR_MEMORY);
    is_empty = false;
    EXPECT(takt_session_output(s, 0)->data == own, "something is bound");
    run(s, zero, NULL);
    EXPECT_EQ(memcmp(own, want[0], BYTES), 0);
    run(s, own, buffer);
    EXPECT_EQ(memcmp(buffer, want[1], BYTES), 0);
    takt_session_destroy(s);
}

static void all(void)
{
    takt_model *m = NULL;
    const takt_allocator allocator = {.get = get, .put = meter_put, .user = &memory};
    EXPECT_OK(NULL, takt_ctx_create(&(takt_config){.allocator = &allocator}, &ctx));
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", text, strlen(text), NULL, &m));
    EXPECT_OK(ctx, takt_plan_create(m, &(takt_plan_options){.threads = 1}, &plan));
    EXPECT(plan->output_at[0] != SIZE_MAX, "the output has no place in the arena");
    for (int i = 0; i < N; i++)
        x[i] = (float)(i * 7919 % 201 - 100) / 64;
    takt_session *s = made((takt_session_options){0});
    for (int i = 0; i < STEPS; i++)
        run(s, i > 0 ? want[i - 1] : zero, want[i]);
    takt_session_destroy(s);
    ping_pong((takt_session_options){0});
    ping_pong((takt_session_options){.huge_pages = TAKT_HUGE_OFF});
    no_more_than_needed();
    warmup_keeps_it();
    no_memory();
    takt_plan_destroy(plan);
    takt_model_destroy(m);
    takt_ctx_destroy(ctx);
    EXPECT_EQ(memory.live, 0);
}

TEST_MAIN(all)
