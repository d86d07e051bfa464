/* verify_alloc.c - clauses, `takt check`, `takt verify` and `takt diff` while memory runs out: an
 * error, nothing freed twice, nothing leaked. */
#include <string.h>

#include <takt/takt.h>

#include "test.h"
#include "util/inject.h"

static const char text[] = "model m(x: f32[2, 3]) seed=2 {\n"
                           "  require abs(x) <= 1, \"scaled\"\n"
                           "  h = dense(x, 3, act=relu)\n"
                           "  y = softmax(h)\n"
                           "  ensure y <= 1.001 and finite(h)\n"
                           "  return y\n"
                           "}\n";
static const char other[] = "model m(x: f32[2, 3]) seed=2 {\n"
                            "  h = dense(x, 3, act=gelu)\n"
                            "  y = softmax(h)\n"
                            "  return y\n"
                            "}\n";

static int drop(void *user, const char *bytes, size_t length)
{
    (void)user, (void)bytes, (void)length;
    return 0;
}

static takt_status run(const takt_model *m, float value)
{
    takt_plan *plan;
    takt_session *s = NULL;
    takt_status status = takt_plan_create(m, &(takt_plan_options){.threads = 1}, &plan);
    if (status == TAKT_OK)
        status = takt_session_create(plan, NULL, &s);
    const takt_tensor_view *x = status == TAKT_OK ? takt_session_input(s, 0) : NULL;
    if (status == TAKT_OK)
        status = x != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
    for (size_t i = 0; status == TAKT_OK && i < 6; i++)
        ((float *)x->data)[i] = value;
    if (status == TAKT_OK)
        status = takt_session_run(s);
    takt_session_destroy(s);
    takt_plan_destroy(plan);
    return status;
}

static size_t refuted;

/* Finds an input near this one that has another greatest output. */
static takt_status refute(const takt_model *m)
{
    float values[] = {0.5F, -0.25F, 0.125F, 0, 0.75F, -0.5F};
    const takt_tensor_view x = {
        .data = values, .dtype = TAKT_F32, .rank = 2, .dims = {2, 3}, .strides = {3, 1}};
    takt_verify_summary said = {0};
    const takt_status status = takt_model_verify(
        m, &(takt_verify_options){.input = &x, .eps = 1, .threads = 1, .timeout_s = 1000},
        TAKT_FORMAT_TEXT, drop, NULL, &said);
    /* Without memory for bounds it is unknown. */
    EXPECT(said.verdict != TAKT_PROOF_FOUND, "proved what is false");
    refuted += status == TAKT_OK && said.verdict == TAKT_PROOF_REFUTED;
    return status;
}

static takt_status use(takt_ctx *ctx, int what)
{
    takt_model *m = NULL, *ref = NULL;
    takt_status status = takt_model_load_memory(ctx, "m.takt", text, strlen(text), NULL, &m);
    if (status == TAKT_OK && what == 2)
        status = takt_model_load_memory(ctx, "o.takt", other, strlen(other), NULL, &ref);
    if (status == TAKT_OK && what == 0)
        status = run(m, 3) == TAKT_ERR_RANGE ? TAKT_OK : TAKT_ERR_MEMORY;
    else if (status == TAKT_OK && what == 1)
        status = takt_precision_check(m, &(takt_check_options){.threads = 1}, TAKT_FORMAT_TEXT,
                                      drop, NULL, NULL);
    else if (status == TAKT_OK && what == 3)
        status = takt_model_verify(
            m,
            &(takt_verify_options){
                .property = "tests/corpus/vnnlib/good_six", .threads = 1, .timeout_s = 1000},
            TAKT_FORMAT_TEXT, drop, NULL, NULL);
    else if (status == TAKT_OK && what == 4)
        status = refute(m);
    else if (status == TAKT_OK)
        status = takt_model_diff(ref, m, NULL, TAKT_FORMAT_TEXT, drop, NULL);
    takt_model_destroy(m);
    takt_model_destroy(ref);
    return status;
}

static takt_status scenario(takt_inject *inject, void *user)
{
    takt_config config = {0};
    takt_ctx *ctx;
    takt_inject_config(inject, &config);
    takt_status status = takt_ctx_create(&config, &ctx);
    if (status != TAKT_OK)
        return status;
    status = use(ctx, *(int *)user);
    takt_ctx_destroy(ctx);
    return status;
}

static void sweeps(void)
{
    for (int what = 0; what < 5; what++) {
        const takt_sweep_report r = takt_sweep_some(scenario, &what, TAKT_INJECT_MEMORY, 400);
        EXPECT(r.is_good, "%d: %s", what, r.message);
    }
    EXPECT(refuted > 0, "no input was found");
}

TEST_MAIN(sweeps)
