/* ranges_fit.c - sizes that keep changing without a range: few plans, the bits of a plan for each
 * size alone, and ranges that end at a limit or at the model's maximum. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <takt/takt.h>

#include "api/session/session.h"
#include "base/ctx.h"
#include "test.h"
#include "util/inject.h"

static const char encoder[] = "model m(x: f32[batch, seq, 8]) seed=3 {\n"
                              "  return y = transformer_block(x, heads=2, hidden=16)\n"
                              "}\n";
static const char table[] = "model m(x: f32[seq, 8]) seed=3 {\n"
                            "  rest = op.iota(shape=[80 - seq], dtype=f32, axis=0)\n"
                            "  return y = x + reduce_sum(rest)\n"
                            "}\n";
static const char memory[] = "model m(x: f32[seq, 8]) seed=3 {\n"
                             "  state last: f32[seq, 8] = 0\n"
                             "  next last = x\n"
                             "  return y = x + last\n"
                             "}\n";

enum { MOST = 2 * 1024 * 8 };

static takt_ctx *ctx;
static float x[MOST];

static takt_model *load(takt_ctx *in, const char *text)
{
    takt_model *m = NULL;
    EXPECT_OK(in, takt_model_load_memory(in, "m", text, strlen(text), NULL, &m));
    return m;
}

static takt_session *open(takt_ctx *in, const takt_model *m, const takt_plan_options *o)
{
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    if (EXPECT_OK(in, takt_plan_create(m, o, &plan)))
        EXPECT_OK(in, takt_session_create(plan, NULL, &s));
    takt_plan_destroy(plan);
    return s;
}

static takt_session *open_at(const takt_model *m, const char *sizes)
{
    return open(ctx, m, &(takt_plan_options){.threads = 1, .sizes = sizes});
}

/* The end of the range of the only name that changes; that of `seq` if there are two. */
static int64_t end_of(const takt_session *s)
{
    const takt_plan *plan = s->range != NULL ? s->range->top : s->plan;
    return plan->sizes[plan->name_count - 1];
}

static bool runs(takt_session *s)
{
    const takt_tensor_view *in = takt_session_input(s, 0);
    if (in == NULL) /* no memory for it */
        return false;
    takt_tensor_view view = *in;
    view.data = x;
    return takt_session_bind(s, "x", &view) == TAKT_OK && takt_session_run(s) == TAKT_OK;
}

static size_t bytes_of(const takt_tensor_view *v)
{
    size_t bytes = sizeof(float);
    for (int i = 0; i < v->rank; i++)
        bytes *= (size_t)v->dims[i];
    return bytes;
}

/* ---- growth ---- */

static void agree(takt_session *s, const takt_model *m, const char *sizes)
{
    takt_session *alone = open_at(m, sizes);
    EXPECT(runs(s) && alone != NULL && runs(alone), "%s", sizes);
    const takt_tensor_view *got = takt_session_output(s, 0), *want = takt_session_output(alone, 0);
    EXPECT(bytes_of(got) == bytes_of(want) && memcmp(got->data, want->data, bytes_of(want)) == 0,
           "%s: other bits", sizes);
    takt_session_destroy(alone);
}

static void doubles(void)
{
    takt_model *m = load(ctx, encoder);
    takt_session *s = open_at(m, "batch=2,seq=1");
    int plans = 1;
    int64_t end = end_of(s);
    for (int seq = 1; seq <= 1000; seq++) {
        char sizes[32];
        snprintf(sizes, sizeof sizes, "batch=%d,seq=%d", 1 + seq % 2, seq);
        if (!EXPECT(takt_session_fit(s, m, sizes) == TAKT_OK, "%s", takt_last_error(ctx)))
            break;
        EXPECT(takt_session_input(s, 0)->dims[1] == seq, "%s", sizes);
        plans += end_of(s) != end;
        end = end_of(s);
        if (seq % 97 == 0 || seq < 6)
            agree(s, m, sizes);
    }
    EXPECT(plans <= 11, "%d plans", plans);
    EXPECT(end == 1024, "%lld", (long long)end);
    takt_session_destroy(s);
    takt_model_destroy(m);
}

static void first_size_is_the_end(void)
{
    takt_model *m = load(ctx, encoder);
    takt_session *s = open_at(m, NULL);
    EXPECT_OK(ctx, takt_session_fit(s, m, "batch=1,seq=57"));
    EXPECT(end_of(s) == 57, "%lld", (long long)end_of(s));
    EXPECT_OK(ctx, takt_session_fit(s, m, "batch=1,seq=30"));
    EXPECT(end_of(s) == 57, "inside");
    agree(s, m, "batch=1,seq=30");
    EXPECT_OK(ctx, takt_session_fit(s, m, "batch=1,seq=58"));
    EXPECT(end_of(s) == 114, "%lld", (long long)end_of(s));
    EXPECT_OK(ctx, takt_session_fit(s, m, "batch=1,seq=400"));
    EXPECT(end_of(s) == 400, "more than twice: %lld", (long long)end_of(s));
    takt_session_destroy(s);
    takt_model_destroy(m);
}

/* ---- limits ---- */

static void limit_of_memory(void)
{
    takt_model *m = load(ctx, encoder);
    takt_plan *plan = NULL;
    takt_plan_info info = {0};
    const takt_plan_options top = {.threads = 1, .sizes = "batch=1,seq=1..100"};
    if (EXPECT_OK(ctx, takt_plan_create(m, &top, &plan)))
        takt_plan_query(plan, &info);
    takt_plan_destroy(plan);
    takt_session *s = open(
        ctx, m,
        &(takt_plan_options){.threads = 1, .sizes = "batch=1,seq=70", .memory_limit = info.peak});
    EXPECT_OK(ctx, takt_session_fit(s, m, "batch=1,seq=71"));
    EXPECT(end_of(s) > 71 && end_of(s) <= 100, "%lld", (long long)end_of(s));
    EXPECT_OK(ctx, takt_session_fit(s, m, "batch=1,seq=100"));
    agree(s, m, "batch=1,seq=100");
    EXPECT_STATUS(ctx, takt_session_fit(s, m, "batch=1,seq=300"), TAKT_ERR_LIMIT);
    agree(s, m, "batch=1,seq=100");
    takt_session_destroy(s);
    takt_model_destroy(m);
}

static void limit_of_the_model(void)
{
    takt_model *m = load(ctx, table);
    takt_session *s = open_at(m, "seq=50");
    int plans = 0;
    for (int seq = 50, end = 50; seq <= 80; seq++, end = (int)end_of(s)) {
        char sizes[32];
        snprintf(sizes, sizeof sizes, "seq=%d", seq);
        EXPECT(takt_session_fit(s, m, sizes) == TAKT_OK, "%s: %s", sizes, takt_last_error(ctx));
        plans += end_of(s) != end;
        agree(s, m, sizes);
    }
    EXPECT(plans <= 6, "%d plans", plans);
    EXPECT(takt_session_fit(s, m, "seq=81") == TAKT_ERR_SHAPE && runs(s), "%s",
           takt_last_error(ctx));
    takt_session_destroy(s);
    takt_model_destroy(m);
}

/* A refused request does not affect later ones. */
static void refused_size(void)
{
    takt_model *m = load(ctx, table);
    takt_session *s = open_at(m, "seq=50");
    EXPECT_STATUS(ctx, takt_session_fit(s, m, "seq=81"), TAKT_ERR_SHAPE);
    EXPECT(s->range == NULL && end_of(s) == 50, "the session is as it was");
    EXPECT_OK(ctx, takt_session_fit(s, m, "seq=51"));
    EXPECT(s->range != NULL && end_of(s) > 51, "no range for the next size");
    agree(s, m, "seq=51");
    takt_session_destroy(s);
    takt_model_destroy(m);
}

/* The end of the range of name `i`. */
static int64_t end_at(const takt_session *s, size_t i)
{
    const takt_plan *plan = s->range != NULL ? s->range->top : s->plan;
    return plan->ranges != NULL ? plan->ranges[i].high : plan->sizes[i];
}

static void others_stay(void)
{
    takt_model *m = load(ctx, encoder);
    takt_session *s = open_at(m, "batch=1..8,seq=1..16");
    EXPECT_OK(ctx, takt_session_fit(s, m, "batch=3,seq=4"));
    EXPECT_OK(ctx, takt_session_fit(s, m, "seq=20"));
    EXPECT(end_at(s, 0) == 8 && end_at(s, 1) == 32, "batch to %lld, seq to %lld",
           (long long)end_at(s, 0), (long long)end_at(s, 1));
    EXPECT(takt_session_input(s, 0)->dims[0] == 3, "the batch stays");
    agree(s, m, "batch=3,seq=20");
    takt_session_destroy(s);
    takt_model_destroy(m);
}

/* A size below 3 is not possible although a range with it can be planned. */
static void refused_inside(void)
{
    static const char least[] = "model m(x: f32[seq, 8]) seed=3 {\n"
                                "  rest = op.iota(shape=[seq - 3], dtype=f32, axis=0)\n"
                                "  return y = x + reduce_sum(rest)\n"
                                "}\n";
    takt_model *m = load(ctx, least);
    takt_session *s = open_at(m, "seq=4..8");
    EXPECT_OK(ctx, takt_session_fit(s, m, "seq=5"));
    EXPECT(takt_session_fit(s, m, "seq=2") != TAKT_OK, "a size that is not possible");
    EXPECT(s->range != NULL && s->range->top->ranges[0].low == 4 && end_at(s, 0) == 8,
           "the range is another");
    EXPECT(takt_session_input(s, 0)->dims[0] == 5, "the size is another");
    agree(s, m, "seq=5");
    takt_session_destroy(s);
    takt_model_destroy(m);
}

static void refused(void)
{
    takt_model *m = load(ctx, memory);
    takt_session *s = open_at(m, "seq=3");
    EXPECT_STATUS(ctx, takt_session_fit(s, m, "seq=4"), TAKT_ERR_SHAPE);
    EXPECT_STATUS(ctx, takt_session_fit(s, m, "lines=4"), TAKT_ERR_NOT_FOUND);
    EXPECT(runs(s) && takt_session_output(s, 0)->dims[0] == 3, "still what it was");
    takt_session_destroy(s);
    takt_model_destroy(m);
}

static void long_name(void)
{
    enum { LETTERS = 1024 /* the most */ };
    static char name[LETTERS + 1], text[LETTERS + 200], sizes[LETTERS + 40];
    memset(name, 'n', LETTERS);
    snprintf(text, sizeof text, "model m(x: f32[%s, 8], y: f32[k]) { return a = x * 2.0, b = -y }",
             name);
    takt_model *m = load(ctx, text);
    snprintf(sizes, sizeof sizes, "%s=8,k=2", name);
    takt_session *s = open_at(m, sizes);
    snprintf(sizes, sizeof sizes, "%s=20", name);
    EXPECT_OK(ctx, takt_session_fit(s, m, sizes));
    EXPECT_EQ(takt_session_input(s, 0)->dims[0], 20);
    EXPECT(takt_session_fit(s, m, "k=3") == TAKT_OK && end_at(s, 0) >= 20, "it keeps its range");
    EXPECT_EQ(takt_session_input(s, 0)->dims[0], 20);
    takt_session_destroy(s);
    takt_model_destroy(m);
}

static takt_status scenario(takt_inject *inject, void *user)
{
    takt_config config = {0};
    takt_ctx *in;
    takt_model *m = NULL;
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    (void)user;
    takt_inject_config(inject, &config);
    takt_status status = takt_ctx_create(&config, &in);
    if (status != TAKT_OK)
        return status;
    const takt_plan_options o = {.threads = 1};
    status = takt_model_load_memory(in, "m", table, strlen(table), NULL, &m);
    if (status == TAKT_OK)
        status = takt_plan_create(m, &o, &plan);
    if (status == TAKT_OK)
        status = takt_session_create(plan, NULL, &s);
    for (int i = 0; i < 4 && status == TAKT_OK; i++)
        status = takt_session_fit(s, m, (const char *[]){"seq=3", "seq=2", "seq=4", "seq=70"}[i]);
    if (s != NULL)
        EXPECT(runs(s) || inject->hits > 0, "usable");
    takt_session_destroy(s);
    takt_plan_destroy(plan);
    takt_model_destroy(m);
    takt_ctx_destroy(in);
    return status;
}

int main(void)
{
    for (size_t i = 0; i < MOST; i++)
        x[i] = (float)(i % 23) / 11.0f - 1.0f;
    if (EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx))) {
        doubles();
        first_size_is_the_end();
        limit_of_memory();
        limit_of_the_model();
        refused_size();
        others_stay();
        refused_inside();
        refused();
        long_name();
        const takt_sweep_report r = takt_sweep_some(scenario, NULL, TAKT_INJECT_MEMORY, 200);
        EXPECT(r.is_good && r.runs > 50, "%s", r.message);
    }
    takt_ctx_destroy(ctx);
    return test_done();
}
