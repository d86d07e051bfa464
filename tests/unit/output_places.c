/* output_places.c - outputs without a buffer of the caller's lie in the arena where it has room:
 * less memory, the same bits, and never where other sessions or sizes could write over them. */
#include "test.h"

#include <string.h>

#include <takt/takt.h>

#include "plan/plan.h"

static takt_ctx *ctx;

/* The largest values are gone when the outputs are written, y long before z. */
static const char text[] = "model m(x: f32[n, 16]) -> (y: f32[n, 16], z: f32[n, 8]) seed=1 {\n"
                           "  param u: f32[16, 256] = uniform(-1, 1)\n"
                           "  param v: f32[256, 16] = uniform(-1, 1)\n"
                           "  param w: f32[16, 8] = uniform(-1, 1)\n"
                           "  y = matmul(tanh(matmul(x, u)), v)\n"
                           "  a = matmul(tanh(matmul(y, u)), v)\n"
                           "  return y = y, z = matmul(sin(a), w)\n"
                           "}\n";
enum { N = 8, Y = N * 16, Z = N * 8, IN = N * 16 * 4, OUT = (Y + Z) * 4 };

static void fill(float *to, size_t count, int seed)
{
    for (size_t i = 0; i < count; i++)
        to[i] = (float)((int)((i + (size_t)seed) * 7919 % 201) - 100) / 64;
}

static takt_plan *planned(const takt_model *m, takt_plan_options options)
{
    takt_plan *plan = NULL;
    options.threads = 1;
    EXPECT_OK(ctx, takt_plan_create(m, &options, &plan));
    return plan;
}

static uint64_t io_of(const takt_plan *plan)
{
    takt_plan_info info;
    takt_plan_query(plan, &info);
    return info.io;
}

/* Both outputs of a run on input number `seed`, in the session's memory or in `to`. */
static void run(takt_session *s, int seed, float *to, bool is_bound)
{
    float *at[2] = {to, to + Y};
    const int64_t columns[2] = {16, 8};
    static const char *const names[2] = {"y", "z"};
    for (size_t i = 0; i < 2; i++) {
        const takt_tensor_view v = {
            .data = is_bound ? at[i] : NULL, .dtype = TAKT_F32, .rank = 2, .dims = {N, columns[i]}};
        EXPECT_OK(ctx, takt_session_bind(s, names[i], &v));
    }
    fill(takt_session_input(s, 0)->data, N * 16, seed);
    EXPECT_OK(ctx, takt_session_run(s));
    for (size_t i = 0; i < 2 && !is_bound; i++)
        memcpy(at[i], takt_session_output(s, i)->data, (size_t)(N * columns[i]) * 4);
}

static void less_memory_and_the_same_bits(const takt_model *m)
{
    takt_plan *plan = planned(m, (takt_plan_options){.sizes = "n=8"});
    takt_session *s = NULL, *bound = NULL;
    float want[Y + Z], got[Y + Z];
    EXPECT_EQ(io_of(plan), IN + Y * 4); /* there is no room for y when z's values are largest */
    EXPECT_OK(ctx, takt_session_create(plan, NULL, &s));
    EXPECT_OK(ctx, takt_session_create(plan, NULL, &bound));
    const uint64_t before = takt_session_held(s);
    for (int seed = 0; seed < 3; seed++) {
        run(bound, seed, want, true);
        run(s, seed, got, false);
        EXPECT_EQ(memcmp(want, got, sizeof want), 0);
        EXPECT_EQ(takt_session_held(s), before + IN + Y * 4);
    }
    EXPECT_OK(ctx, takt_session_warmup(s));
    run(s, 2, got, false);
    EXPECT_EQ(memcmp(want, got, sizeof want), 0);
    takt_session_destroy(bound);
    takt_session_destroy(s);
    takt_plan_destroy(plan);
}

/* Another session may run in the same arena before the outputs are read. */
static void not_in_an_arena_of_the_caller(const takt_model *m)
{
    takt_plan *plan = planned(m, (takt_plan_options){.sizes = "n=8"});
    void *arena = takt_alloc(ctx, plan->arena_bytes);
    const takt_session_options o = {.arena = arena, .arena_bytes = plan->arena_bytes};
    takt_session *s = NULL;
    float want[Y + Z], got[Y + Z];
    EXPECT_OK(ctx, takt_session_create(plan, &o, &s));
    run(s, 0, want, true);
    run(s, 0, got, false);
    takt_plan_info info;
    takt_plan_query(plan, &info); /* its io omits z */
    EXPECT_EQ(takt_session_held(s), info.session + info.pool + info.state + info.io + Z * 4);
    memset(arena, 0xff, plan->arena_bytes);
    for (size_t i = 0; i < 2; i++) {
        const void *at = takt_session_output(s, i)->data;
        EXPECT_EQ(memcmp(at, want + (i == 0 ? 0 : Y), (i == 0 ? Y : Z) * sizeof *want), 0);
    }
    takt_session_destroy(s);
    takt_free(ctx, arena);
    takt_plan_destroy(plan);
}

static void not_where_sizes_change(const takt_model *m)
{
    takt_plan *plan = planned(m, (takt_plan_options){.sizes = "n=1..8"});
    EXPECT_EQ(io_of(plan), IN + OUT);
    takt_plan_destroy(plan);
}

/* A run must not write over an output that it has already made: checked for every number of rows,
 * so that outputs fit now in one gap, now in another. */
static void outputs_survive(const takt_model *m)
{
    for (int n = 1; n <= 40; n++) {
        char sizes[16];
        snprintf(sizes, sizeof sizes, "n=%d", n);
        takt_plan *plan = planned(m, (takt_plan_options){.sizes = sizes});
        takt_plan *apart = planned(m, (takt_plan_options){.sizes = sizes, .no_reuse = true});
        takt_session *s[2] = {NULL};
        EXPECT_OK(ctx, takt_session_create(plan, NULL, &s[0]));
        EXPECT_OK(ctx, takt_session_create(apart, NULL, &s[1]));
        for (size_t i = 0; i < 2; i++) {
            fill(takt_session_input(s[i], 0)->data, (size_t)n * 16, n);
            EXPECT_OK(ctx, takt_session_run(s[i]));
        }
        for (size_t i = 0; i < 2; i++)
            EXPECT_EQ(memcmp(takt_session_output(s[0], i)->data, takt_session_output(s[1], i)->data,
                             (size_t)n * (i == 0 ? 64 : 32)),
                      0);
        for (size_t i = 0; i < 2; i++)
            takt_session_destroy(s[i]);
        takt_plan_destroy(plan);
        takt_plan_destroy(apart);
    }
}

/* A weight that is state is packed before the first step, in memory that is free afterwards. */
static void where_weights_are_packed(void)
{
    static const char packed[] = "model m(x: f32[4, 64]) {\n  state w: f16[64, 64] = 0.125\n"
                                 "  next w = w\n"
                                 "  return y = op.matmul(x, op.cast(w, dtype=f32))\n}\n";
    takt_model *m = NULL;
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", packed, strlen(packed), NULL, &m));
    takt_plan *plan = planned(m, (takt_plan_options){0});
    takt_session *s = NULL;
    EXPECT_EQ(io_of(plan), 4 * 64 * 4);
    EXPECT_OK(ctx, takt_session_create(plan, NULL, &s));
    for (int i = 0; i < 4 * 64; i++)
        ((float *)takt_session_input(s, 0)->data)[i] = 1;
    EXPECT_OK(ctx, takt_session_run(s));
    for (int i = 0; i < 4 * 64; i++)
        EXPECT(((const float *)takt_session_output(s, 0)->data)[i] == 8, "output %d", i);
    takt_session_destroy(s);
    takt_plan_destroy(plan);
    takt_model_destroy(m);
}

static void all(void)
{
    takt_model *m = NULL;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", text, strlen(text), NULL, &m));
    less_memory_and_the_same_bits(m);
    not_in_an_arena_of_the_caller(m);
    not_where_sizes_change(m);
    outputs_survive(m);
    where_weights_are_packed();
    takt_model_destroy(m);
    takt_ctx_destroy(ctx);
}

TEST_MAIN(all)
