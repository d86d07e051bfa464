/* ranges_bodies.c - branches, loops and recurrent cells are resized in place: inside a range a run
 * with another size allocates nothing, and a failed allocation leaves the session usable. */
#include <string.h>

#include <takt/takt.h>

#include "api/session/session.h"
#include "plan/resize.h"
#include "test.h"
#include "util/inject.h"

enum { LONGEST = 40, MOST = 3 * LONGEST * 6 };

static const char *const texts[] = {
    "model branches(x: f32[batch, seq, 6]) seed=3 {\n"
    "  y = softmax(x, axis=1) if reduce_sum(x) > 0.0 else cumsum(x, axis=1)\n"
    "  return z = reduce_sum(y, axes=[2])\n"
    "}\n",
    "model loops(x: f32[batch, seq, 6]) seed=4 {\n"
    "  y = x\n"
    "  for i in seq {\n"
    "    y = y * 0.5 + reduce_mean(y, axes=[1], keep=true) if reduce_max(y) > 0.5 else y - 0.25\n"
    "  }\n"
    "  return z = reduce_sum(y, axes=[2])\n"
    "}\n",
    "model cells(x: f32[batch, seq, 6]) seed=5 {\n"
    "  y = lstm(x, 8) |> gru(5)\n"
    "  return z = reduce_sum(y, axes=[2])\n"
    "}\n",
};

static float x[MOST];

static takt_status go(takt_session *s, int64_t batch, int64_t seq)
{
    const takt_tensor_view view = {
        .dtype = TAKT_F32, .rank = 3, .dims = {batch, seq, 6}, .data = x};
    const takt_status status = takt_session_bind(s, "x", &view);
    return status != TAKT_OK ? status : takt_session_run(s);
}

static takt_status open(takt_ctx *ctx, const char *text, const char *sizes, takt_model **m,
                        takt_session **s)
{
    takt_plan *plan = NULL;
    const takt_plan_options o = {.threads = 1, .sizes = sizes};
    takt_status status =
        *m != NULL ? TAKT_OK : takt_model_load_memory(ctx, "m", text, strlen(text), NULL, m);
    if (status == TAKT_OK)
        status = takt_plan_create(*m, &o, &plan);
    if (status == TAKT_OK)
        status = takt_session_create(plan, NULL, s);
    takt_plan_destroy(plan);
    return status;
}

/* The bits of a plan for this size alone. */
static void agree(takt_ctx *ctx, takt_session *s, takt_model *m, int64_t batch, int64_t seq)
{
    char sizes[64];
    takt_session *alone = NULL;
    snprintf(sizes, sizeof sizes, "batch=%d,seq=%d", (int)batch, (int)seq);
    if (!EXPECT_OK(ctx, open(ctx, NULL, sizes, &m, &alone)))
        return;
    EXPECT(go(s, batch, seq) == TAKT_OK, "%s: %s", sizes, takt_session_error(s)->message);
    EXPECT_OK(NULL, go(alone, batch, seq));
    const takt_tensor_view *got = takt_session_output(s, 0), *want = takt_session_output(alone, 0);
    EXPECT_EQ(got->dims[0], batch);
    EXPECT_EQ(got->dims[1], seq);
    EXPECT(memcmp(got->data, want->data, (size_t)(batch * seq) * sizeof(float)) == 0, "%s: bits",
           sizes);
    takt_session_destroy(alone);
}

static void in_place(const char *text)
{
    takt_inject inject;
    takt_config config = {0};
    takt_ctx *ctx;
    takt_model *m = NULL;
    takt_session *s = NULL;
    takt_inject_init(&inject);
    takt_inject_config(&inject, &config);
    if (!EXPECT_OK(NULL, takt_ctx_create(&config, &ctx)))
        return;
    if (EXPECT_OK(ctx, open(ctx, text, "batch=1..3,seq=1..40", &m, &s))) {
        EXPECT_OK(NULL, go(s, 2, 5));
        EXPECT(s->range->resizer != NULL && s->plan == takt_resizer_plan(s->range->resizer),
               "%.20s: not in place", text);
        const uint64_t gets = inject.gets;
        for (int64_t i = 0; i < 60; i++)
            EXPECT_OK(NULL, go(s, 1 + i % 3, 1 + i * 17 % LONGEST));
        EXPECT(inject.gets == gets, "%.20s: %llu allocations", text,
               (unsigned long long)(inject.gets - gets));
        for (int64_t i = 0; i < 24; i++)
            agree(ctx, s, m, 1 + i % 3, 1 + i * 7 % LONGEST);
    }
    takt_session_destroy(s);
    takt_model_destroy(m);
    takt_ctx_destroy(ctx);
    EXPECT_EQ(takt_inject_deinit(&inject), 0);
    EXPECT_EQ(inject.faults, 0);
}

static takt_status scenario(takt_inject *inject, void *user)
{
    takt_config config = {0};
    takt_ctx *ctx;
    takt_model *m = NULL;
    takt_session *s = NULL;
    takt_inject_config(inject, &config);
    takt_status status = takt_ctx_create(&config, &ctx);
    if (status != TAKT_OK)
        return status;
    status = open(ctx, user, "batch=2,seq=1..12", &m, &s);
    for (int64_t seq = 2; seq < 12 && status == TAKT_OK; seq += 4)
        status = go(s, 2, seq);
    takt_session_destroy(s);
    takt_model_destroy(m);
    takt_ctx_destroy(ctx);
    return status;
}

static void sweep(const char *text)
{
    const takt_sweep_report r =
        takt_sweep_some(scenario, (void *)(uintptr_t)text, TAKT_INJECT_MEMORY, 200);
    EXPECT(r.is_good && r.runs > 100, "%s", r.message);
}

int main(void)
{
    for (size_t i = 0; i < MOST; i++)
        x[i] = (float)(i * 37 % 101) / 50.0f - 1.0f;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        in_place(texts[i]);
        sweep(texts[i]);
    }
    return test_done();
}
