/* ranges.c - a plan for a range of sizes: buffers of any size inside it are bound and run, results
 * have the bits of a plan for that size alone, and what does not fit is refused. */
#include <string.h>

#include <takt/takt.h>

#include "api/session/session.h"
#include "base/ctx.h"
#include "plan/resize.h"
#include "test.h"
#include "util/inject.h"

static const char text[] = "model m(x: f32[batch, seq, 24], y: f32[batch, seq]) seed=3 {\n"
                           "  h = transformer_block(x, heads=2, hidden=48)\n"
                           "  state runs: f32[2] = 0\n"
                           "  more = runs + 1.0\n"
                           "  next runs = more\n"
                           "  return z = reduce_sum(h, axes=[2]) * y, n = more\n"
                           "}\n";

enum { MOST = 4 * 64 * 24 };

static takt_ctx *ctx;
static float x[MOST], y[MOST];

static void fill(void)
{
    uint32_t state = 7;
    for (size_t i = 0; i < MOST; i++) {
        state = state * 1664525u + 1013904223u;
        x[i] = ((float)(state >> 16) - 32768.0f) / 16384.0f;
        y[i] = 1.0f / (float)(1 + i % 13);
    }
}

static takt_model *load(takt_ctx *in)
{
    takt_model *m = NULL;
    EXPECT_OK(in, takt_model_load_memory(in, "m", text, strlen(text), NULL, &m));
    return m;
}

static takt_session *open(takt_ctx *in, const takt_model *m, const char *sizes)
{
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    const takt_plan_options o = {.threads = 1, .sizes = sizes};
    if (EXPECT_OK(in, takt_plan_create(m, &o, &plan)))
        EXPECT_OK(in, takt_session_create(plan, NULL, &s));
    takt_plan_destroy(plan);
    return s;
}

static takt_status bind(takt_session *s, const char *name, float *data, int64_t a, int64_t b,
                        int64_t c)
{
    const takt_tensor_view view = {
        .dtype = TAKT_F32, .rank = c > 0 ? 3 : 2, .dims = {a, b, c}, .data = data};
    return takt_session_bind(s, name, &view);
}

static takt_status bind_both(takt_session *s, int64_t batch, int64_t seq)
{
    const takt_status status = bind(s, "x", x, batch, seq, 24);
    return status != TAKT_OK ? status : bind(s, "y", y, batch, seq, 0);
}

static bool has_dims(const takt_tensor_view *v, int64_t a, int64_t b)
{
    return v != NULL && v->rank == 2 && v->dims[0] == a && v->dims[1] == b;
}

/* ---- any size ---- */

static void agree(takt_session *s, const takt_model *m, int64_t batch, int64_t seq)
{
    char sizes[64];
    snprintf(sizes, sizeof sizes, "batch=%d,seq=%d", (int)batch, (int)seq);
    takt_session *alone = open(ctx, m, sizes);
    if (alone == NULL)
        return;
    EXPECT_OK(NULL, bind_both(s, batch, seq));
    EXPECT_OK(NULL, bind_both(alone, batch, seq));
    EXPECT(has_dims(takt_session_output(s, 0), batch, seq), "%s: before the run", sizes);
    EXPECT(takt_session_run(s) == TAKT_OK, "%s: %s", sizes, takt_session_error(s)->message);
    EXPECT_OK(NULL, takt_session_run(alone));
    const takt_tensor_view *got = takt_session_output(s, 0), *want = takt_session_output(alone, 0);
    EXPECT(has_dims(got, batch, seq) &&
               memcmp(got->data, want->data, (size_t)(batch * seq) * sizeof(float)) == 0,
           "%s: other bits", sizes);
    takt_session_destroy(alone);
}

static void any_size(void)
{
    takt_model *m = load(ctx);
    takt_session *s = open(ctx, m, "batch=1..3,seq=1..64");
    EXPECT(has_dims(takt_session_output(s, 0), 3, 64), "memory is for the top of the range");
    int runs = 0;
    for (int64_t seq = 1; seq <= 64; seq += seq < 12 ? 1 : 13, runs++)
        agree(s, m, 1 + seq % 3, seq);
    agree(s, m, 3, 64);
    agree(s, m, 2, 7);
    const float *n = takt_session_output(s, 1)->data;
    EXPECT(n[0] == (float)(runs + 2), "state is kept: %g of %d", (double)n[0], runs + 2);
    takt_session_destroy(s);
    takt_model_destroy(m);
}

static void memory_is_constant(void)
{
    takt_model *m = load(ctx);
    takt_session *s = open(ctx, m, "batch=2,seq=1..40");
    uint64_t before = 0;
    for (int round = 0; round < 3; round++) {
        for (int64_t seq = 1; seq <= 10; seq++)
            EXPECT(bind_both(s, 2, seq) == TAKT_OK && takt_session_run(s) == TAKT_OK);
        if (round == 0)
            before = ctx->live_bytes;
    }
    EXPECT(ctx->live_bytes == before, "%lld bytes more", (long long)(ctx->live_bytes - before));
    takt_session_destroy(s);
    takt_model_destroy(m);
}

/* After the first size that is not the largest, other sizes are put into the session's own plan. */
static void allocates_nothing(void)
{
    takt_inject inject;
    takt_config config = {0};
    takt_ctx *own;
    takt_inject_init(&inject);
    takt_inject_config(&inject, &config);
    if (!EXPECT_OK(NULL, takt_ctx_create(&config, &own)))
        return;
    takt_model *m = load(own);
    takt_session *s = open(own, m, "batch=1..3,seq=1..64");
    EXPECT_OK(NULL, bind_both(s, 1, 3));
    EXPECT_OK(NULL, takt_session_run(s));
    const uint64_t gets = inject.gets;
    for (int64_t i = 0; i < 100; i++)
        EXPECT(bind_both(s, 1 + i % 3, 1 + i * 37 % 64) == TAKT_OK &&
               takt_session_run(s) == TAKT_OK);
    EXPECT(inject.gets == gets, "%llu allocations", (unsigned long long)(inject.gets - gets));
    takt_session_destroy(s);
    takt_model_destroy(m);
    takt_ctx_destroy(own);
    EXPECT_EQ(takt_inject_deinit(&inject), 0);
    EXPECT_EQ(inject.faults, 0);
}

/* A size that comes for the second time is kept: from then on, going back to it compiles nothing.
 * It gives the bits that it gave. */
static void sizes_come_back(void)
{
    takt_model *m = load(ctx);
    takt_session *s = open(ctx, m, "batch=1..3,seq=1..64");
    for (int64_t seq = 5; seq <= 9; seq++)
        agree(s, m, 2, seq);
    const struct takt_resizer *r = s->range->resizer;
    if (EXPECT(r != NULL)) {
        const uint64_t once = takt_resizer_compiled(r);
        for (int64_t seq = 5; seq <= 9; seq++)
            agree(s, m, 2, seq);
        const uint64_t compiled = takt_resizer_compiled(r);
        EXPECT_IS(once, >, 0);
        EXPECT_IS(compiled, >, once);
        for (int64_t i = 0; i < 12; i++)
            agree(s, m, 2, 5 + i * 3 % 5);
        agree(s, m, 3, 64); /* what the plan was made for */
        EXPECT(takt_resizer_compiled(r) == compiled, "%llu steps were compiled again",
               (unsigned long long)(takt_resizer_compiled(r) - compiled));
        for (int64_t seq = 10; seq <= 50; seq++)
            agree(s, m, 1, seq); /* more than are kept */
        agree(s, m, 2, 5);
        EXPECT_IS(takt_resizer_compiled(r), >, compiled);
    }
    takt_session_destroy(s);
    takt_model_destroy(m);
}

/* ---- what is refused ---- */

static void refused(takt_session *s, const char *words)
{
    EXPECT(takt_session_run(s) != TAKT_OK && takt_session_output(s, 0) == NULL);
    EXPECT(strstr(takt_session_error(s)->message, words) != NULL, "%s",
           takt_session_error(s)->message);
}

static void mistakes(void)
{
    takt_model *m = load(ctx);
    takt_session *s = open(ctx, m, "batch=2,seq=2..40");
    EXPECT_OK(NULL, bind_both(s, 2, 41));
    refused(s, "seq is 41, and the plan is for 2 to 40");
    EXPECT_OK(NULL, bind_both(s, 2, 1));
    refused(s, "seq is 1, and");
    EXPECT_OK(NULL, bind_both(s, 3, 5));
    refused(s, "batch is 3, and the plan is for 2 alone");
    EXPECT_OK(NULL, bind_both(s, 2, 5));
    EXPECT_OK(NULL, takt_session_run(s));
    EXPECT_OK(NULL, bind(s, "x", x, 2, 6, 24));
    refused(s, "y: dimension 1 is 5 in its buffer; by what else is bound it would be 6");
    EXPECT_OK(NULL, bind(s, "y", y, 2, 6, 0));
    EXPECT_OK(NULL, takt_session_run(s));
    EXPECT_OK(NULL, bind(s, "x", x, 2, 6, 23));
    refused(s, "x: dimension 2 is 24, the buffer has 23");
    EXPECT(bind(s, "x", x, 2, 6, 0) != TAKT_OK, "another rank is refused at once");
    EXPECT_OK(NULL, bind_both(s, 2, 9));
    EXPECT_OK(NULL, takt_session_run(s));
    takt_session_destroy(s);
    static const char *const wrong[] = {"seq=5..2", "seq=1..",   "seq=..4",
                                        "seq=1..x", "seq=1...4", "seq=1..99999999999999999999",
                                        "none=1..2"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        takt_plan *plan;
        EXPECT(takt_plan_create(m, &(takt_plan_options){.sizes = wrong[i]}, &plan) != TAKT_OK, "%s",
               wrong[i]);
    }
    takt_model_destroy(m);
}

/* ---- outputs, own memory, twins, other ranges ---- */

static void outputs(void)
{
    float z[2 * 40] = {0};
    takt_model *m = load(ctx);
    takt_session *s = open(ctx, m, "batch=2,seq=1..40");
    EXPECT_OK(NULL, bind(s, "z", z, 2, 8, 0));
    EXPECT_OK(NULL, bind_both(s, 2, 8));
    EXPECT_EQ(takt_session_run(s), TAKT_OK);
    EXPECT_IS(z[15], !=, 0);
    EXPECT_EQ(z[16], 0);
    EXPECT_OK(NULL, bind_both(s, 2, 9));
    refused(s, "z: dimension 1 is 9, the buffer has 8");
    EXPECT_EQ(bind(s, "z", z, 2, 9, 0), TAKT_OK);
    EXPECT_EQ(takt_session_run(s), TAKT_OK);
    EXPECT_IS(z[17], !=, 0);
    takt_session_destroy(s);
    takt_model_destroy(m);
}

static void own_memory(void)
{
    takt_model *m = load(ctx);
    takt_session *s = open(ctx, m, "batch=2,seq=1..40");
    EXPECT(has_dims(takt_session_input(s, 1), 2, 40), "the session's own, for the top");
    EXPECT_OK(NULL, bind(s, "x", x, 2, 8, 24));
    EXPECT(has_dims(takt_session_input(s, 1), 2, 8), "it follows what is bound");
    EXPECT_OK(NULL, takt_session_run(s));
    float *own = takt_session_input(s, 1)->data;
    own[0] = 5;
    EXPECT_OK(NULL, bind(s, "x", x + 24, 2, 8, 24));
    EXPECT(takt_session_input(s, 1)->data == own && own[0] == 5, "the size is the same");
    EXPECT_OK(NULL, bind(s, "x", x, 2, 9, 24));
    EXPECT(takt_session_input(s, 1)->data == own && own[0] == 0, "another size: it is zero");
    own[0] = 5;
    EXPECT(takt_session_reshape(s, m, "seq=11") == TAKT_OK, "inside the range");
    EXPECT(own[0] == 5, "memory that is written again anyway is not cleared");
    EXPECT(has_dims(takt_session_output(s, 0), 2, 11));
    EXPECT(bind_both(s, 2, 12) == TAKT_OK && takt_session_run(s) == TAKT_OK, "still a range");
    takt_session *twin;
    if (EXPECT_OK(NULL, takt_session_clone(s, &twin)))
        EXPECT(has_dims(takt_session_output(twin, 0), 2, 12));
    EXPECT_OK(NULL, bind_both(twin, 2, 13));
    EXPECT_OK(NULL, takt_session_run(twin));
    EXPECT(((const float *)takt_session_output(twin, 1)->data)[0] == 3,
           "with the state of the other");
    takt_session_destroy(twin);
    EXPECT(takt_session_reshape(s, m, "batch=1..4,seq=1..60") == TAKT_OK, "a larger range");
    EXPECT_OK(NULL, bind_both(s, 4, 50));
    EXPECT_OK(NULL, takt_session_run(s));
    EXPECT(takt_session_reshape(s, m, "batch=2,seq=70") == TAKT_OK, "one size, beyond the range");
    EXPECT(bind(s, "x", x, 2, 5, 24) != TAKT_OK, "then no other is taken");
    takt_session_destroy(s);
    takt_model_destroy(m);
}

/* ---- memory that runs out ---- */

static takt_status scenario(takt_inject *inject, void *user)
{
    takt_config config = {0};
    takt_ctx *own;
    takt_model *m = NULL;
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    (void)user;
    takt_inject_config(inject, &config);
    takt_status status = takt_ctx_create(&config, &own);
    if (status != TAKT_OK)
        return status;
    const takt_plan_options o = {.threads = 1, .sizes = "batch=2,seq=1..12"};
    status = takt_model_load_memory(own, "m", text, strlen(text), NULL, &m);
    if (status == TAKT_OK)
        status = takt_plan_create(m, &o, &plan);
    if (status == TAKT_OK)
        status = takt_session_create(plan, NULL, &s);
    for (int64_t seq = 2; seq < 12 && status == TAKT_OK; seq += 4) {
        status = bind_both(s, 2, seq);
        if (status == TAKT_OK)
            status = takt_session_run(s);
    }
    takt_session_destroy(s);
    takt_plan_destroy(plan);
    takt_model_destroy(m);
    takt_ctx_destroy(own);
    return status;
}

static void sweep(void)
{
    const takt_sweep_report r = takt_sweep_some(scenario, NULL, TAKT_INJECT_MEMORY, 400);
    EXPECT(r.is_good && r.runs > 100, "%s", r.message);
}

int main(void)
{
    fill();
    if (EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx))) {
        any_size();
        memory_is_constant();
        sizes_come_back();
        allocates_nothing();
        mistakes();
        outputs();
        own_memory();
        sweep();
    }
    takt_ctx_destroy(ctx);
    return test_done();
}
