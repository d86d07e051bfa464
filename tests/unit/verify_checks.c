/* verify_checks.c - clauses of models: when they are decided, messages of a run, and their cost. */
#include <string.h>

#include <takt/takt.h>

#include "api/model.h"
#include "lang/parse.h"
#include "plan/plan.h"
#include "test.h"

static takt_ctx *ctx;

static const char plain[] = "model m(x: f32[n, 4]) seed=3 {\n"
                            "  h = dense(x, 8, act=relu)\n"
                            "  return dense(h, 2)\n"
                            "}\n";
static const char stated[] = "model m(x: f32[n, 4]) seed=3 {\n"
                             "  require abs(x) <= 1, \"x is scaled\"\n"
                             "  h = dense(x, 8, act=relu)\n"
                             "  ensure finite(h)\n"
                             "  y = dense(h, 2)\n"
                             "  ensure y[0, 0] > y[0, 1] or x[0, 3] < 0.5, \"a choice\"\n"
                             "  ensure y < 1000\n"
                             "  return y\n"
                             "}\n";

static takt_model *load(const char *text)
{
    takt_model *m = NULL;
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "m.takt", text, strlen(text), NULL, &m));
    return m;
}

/* Runs with x = value everywhere; the error's id, or 0. */
static int run(takt_session *s, float value)
{
    const takt_tensor_view *x = takt_session_input(s, 0);
    for (int64_t i = 0; i < x->dims[0] * x->dims[1]; i++)
        ((float *)x->data)[i] = value;
    return takt_session_run(s) == TAKT_OK ? 0 : takt_session_error(s)->id;
}

static takt_session *open_session(const takt_model *m, const char *checks, takt_plan **plan)
{
    const takt_plan_options o = {.sizes = "n=3", .checks = checks, .threads = 1};
    takt_session *s = NULL;
    EXPECT_OK(ctx, takt_plan_create(m, &o, plan));
    EXPECT_OK(ctx, takt_session_create(*plan, NULL, &s));
    return s;
}

static void says(takt_session *s, const char *words)
{
    const takt_error *e = takt_session_error(s);
    EXPECT(strstr(e->message, words) != NULL, "\"%s\" is not in: %s", words, e->message);
}

static void clauses(void)
{
    takt_model *m = load(stated);
    takt_plan *plan;
    takt_session *s = open_session(m, NULL, &plan);
    EXPECT(takt_session_output_count(s) == 1, "clauses are not outputs");
    EXPECT(run(s, 0.25F) == 0, "%s", takt_session_error(s)->message);
    EXPECT(run(s, 2) == TAKT_E_REQUIRE_INPUT, "%s", takt_session_error(s)->message);
    says(s, "require abs(x) <= 1 (line 2) does not hold for 12 elements, the first is [0, 0]: "
            "2 <= 1 is not so");
    EXPECT(strcmp(takt_session_error(s)->hint, "x is scaled") == 0, "%s",
           takt_session_error(s)->hint);
    EXPECT(run(s, (float)(0.0 / 0.0)) == TAKT_E_REQUIRE_INPUT, "NaN keeps a clause");
    EXPECT(run(s, 0.25F) == 0, "a run after a failed one: %s", takt_session_error(s)->message);
    takt_session_destroy(s);
    takt_plan_destroy(plan);
    takt_model_destroy(m);
}

/* The element's position and value are those of the kernels' result. */
static void places(void)
{
    static const char text[] = "model m(x: f32[n, 4]) {\n"
                               "  y = x * constant(f32[4], [1, 2, 30, 4])\n"
                               "  ensure y <= 20\n"
                               "  return y\n"
                               "}\n";
    takt_model *m = load(text);
    takt_plan *plan;
    takt_session *s = open_session(m, "on", &plan);
    EXPECT(run(s, 1) == TAKT_E_ENSURE, "no failure");
    says(s, "ensure y <= 20 (line 3) does not hold for 3 elements, the first is [0, 2]: "
            "30 <= 20 is not so");
    EXPECT(takt_session_error(s)->status == TAKT_ERR_RANGE, "status");
    takt_session_destroy(s);
    takt_plan_destroy(plan);
    takt_model_destroy(m);
}

/* Without clauses the plan is that of a model that never had any. */
static void off(void)
{
    takt_model *a = load(plain), *b = load(stated);
    takt_plan *pa, *pb, *pc;
    takt_session *sa = open_session(a, "off", &pa), *sb = open_session(b, "off", &pb),
                 *sc = open_session(b, "on", &pc);
    takt_plan_info ia, ib;
    takt_plan_query(pa, &ia);
    takt_plan_query(pb, &ib);
    EXPECT(ia.peak == ib.peak && ia.arena == ib.arena && ia.steps == ib.steps &&
               ia.packed == ib.packed && ia.weights == ib.weights && ia.session == ib.session,
           "%zu steps, %llu bytes, not %zu and %llu", ib.steps, (unsigned long long)ib.peak,
           ia.steps, (unsigned long long)ia.peak);
    EXPECT(takt_graph_digest(pa->graph) == takt_graph_digest(pb->graph), "the graphs differ");
    EXPECT(run(sa, 2) == 0 && run(sb, 2) == 0, "%s", takt_session_error(sb)->message);
    EXPECT(run(sc, 0.5F) == 0 && run(sb, 0.5F) == 0 && run(sa, 0.5F) == 0, "a run fails");
    EXPECT(memcmp(takt_session_output(sa, 0)->data, takt_session_output(sb, 0)->data,
                  6 * sizeof(float)) == 0 &&
               memcmp(takt_session_output(sa, 0)->data, takt_session_output(sc, 0)->data,
                      6 * sizeof(float)) == 0,
           "clauses change bits");
    takt_session_destroy(sa);
    takt_session_destroy(sb);
    takt_session_destroy(sc);
    takt_plan_destroy(pa);
    takt_plan_destroy(pb);
    takt_plan_destroy(pc);
    takt_model_destroy(a);
    takt_model_destroy(b);
}

static void samples(void)
{
    takt_model *m = load(stated);
    const takt_plan_options without = {.sizes = "n=3", .checks = "off"}, with = {.sizes = "n=3"};
    takt_plan *plan, *checked;
    takt_session *s = NULL, *none = NULL;
    EXPECT_OK(ctx, takt_plan_create(m, &without, &plan));
    EXPECT_OK(ctx, takt_plan_create(m, &with, &checked));
    const takt_session_options o = {.checked = checked, .check_every = 3};
    EXPECT_OK(ctx, takt_session_create(plan, &o, &s));
    EXPECT(run(s, 2) == TAKT_E_REQUIRE_INPUT, "the first run is a sample");
    EXPECT(run(s, 2) == 0 && run(s, 2) == 0, "two runs are none");
    EXPECT(run(s, 2) == TAKT_E_REQUIRE_INPUT, "the fourth is one");
    const takt_session_options bad = {.checked = checked};
    EXPECT(takt_session_create(plan, &bad, &none) == TAKT_ERR_ARGUMENT && none == NULL,
           "check_every of 0");
    takt_session_destroy(s);
    takt_plan_destroy(plan);
    takt_plan_destroy(checked);
    const takt_plan_options wrong = {.sizes = "n=3", .checks = "maybe"};
    EXPECT(takt_plan_create(m, &wrong, &plan) == TAKT_ERR_ARGUMENT || plan == NULL, "maybe");
    takt_model_destroy(m);
}

/* Samples see the state that the run will see, and leave it alone. */
static void state(void)
{
    static const char text[] = "model m(x: f32[1]) {\n"
                               "  state sum: f32[1] = 0\n"
                               "  y = sum + x\n"
                               "  next sum = y\n"
                               "  ensure y <= 2.5\n"
                               "  return y\n"
                               "}\n";
    takt_model *m = load(text);
    takt_plan *plan, *checked;
    takt_session *s = NULL;
    const takt_plan_options without = {.checks = "off"};
    EXPECT_OK(ctx, takt_plan_create(m, &without, &plan));
    EXPECT_OK(ctx, takt_plan_create(m, NULL, &checked));
    const takt_session_options o = {.checked = checked, .check_every = 1};
    EXPECT_OK(ctx, takt_session_create(plan, &o, &s));
    int ids[3];
    for (int i = 0; i < 3; i++) {
        *(float *)takt_session_input(s, 0)->data = 1;
        ids[i] = takt_session_run(s) == TAKT_OK ? 0 : takt_session_error(s)->id;
    }
    EXPECT(ids[0] == 0 && ids[1] == 0 && ids[2] == TAKT_E_ENSURE, "%d %d %d", ids[0], ids[1],
           ids[2]);
    EXPECT(*(float *)takt_session_output(s, 0)->data == 2, "the state moved");
    takt_session_destroy(s);
    takt_plan_destroy(plan);
    takt_plan_destroy(checked);
    takt_model_destroy(m);
}

/* ---- where clauses are kept ---- */

static void expect_kept(const char *path)
{
    takt_model *m = NULL;
    takt_plan *plan;
    if (!EXPECT_OK(ctx, takt_model_load(ctx, path, NULL, &m)))
        return;
    EXPECT(m->graph->check_count == 4, "%s: %zu clauses", path, m->graph->check_count);
    EXPECT(takt_model_output_count(m) == 1, "%s: %zu outputs", path, takt_model_output_count(m));
    takt_session *s = open_session(m, "on", &plan);
    EXPECT(run(s, 2) == TAKT_E_REQUIRE_INPUT, "%s: %s", path, takt_session_error(s)->message);
    says(s, "require abs(x) <= 1 (line 2)");
    EXPECT(strcmp(takt_session_error(s)->hint, "x is scaled") == 0, "the sentence");
    takt_session_destroy(s);
    takt_plan_destroy(plan);
    takt_model_destroy(m);
}

static void kept(void)
{
    const char *folder = getenv("TAKT_TEST_TMP");
    char text[512];
    static const char *const ends[] = {"taktp", "takt", "onnx"};
    takt_model *m = load(stated);
    for (size_t i = 0; i < 3; i++) {
        snprintf(text, sizeof text, "%s/m.%s", folder != NULL ? folder : "/tmp", ends[i]);
        if (EXPECT_OK(ctx, takt_model_save(m, text, NULL)))
            expect_kept(text);
    }
    takt_model_destroy(m);
}

/* ---- texts ---- */

static void refused(const char *body, const char *words)
{
    char text[512];
    takt_graph *g = NULL;
    snprintf(text, sizeof text, "model m(x: f32[2, 3]) {\n%s\n}\n", body);
    EXPECT(takt_parse(ctx, "m", text, strlen(text), NULL, &g) != TAKT_OK, "%s is taken", body);
    EXPECT(strstr(takt_last_error(ctx), words) != NULL, "%s: %s", body, takt_last_error(ctx));
    takt_graph_destroy(g);
}

static void texts(void)
{
    takt_graph *g = NULL;
    static const char known[] = "model m(x: f32[2, 3]) {\n  ensure rank(x) == 2\n  return x\n}\n";
    EXPECT_OK(ctx, takt_parse(ctx, "m", known, strlen(known), NULL, &g));
    EXPECT(g != NULL && g->check_count == 0, "what is known while reading is not a clause");
    takt_graph_destroy(g);
    refused("ensure rank(x) == 3, \"x has three axes\"\nreturn x", "x has three axes");
    refused("ensure x\nreturn x", "ensure takes a truth value");
    refused("ensure x < 1, 3\nreturn x", "one sentence");
    refused("require x < 1\nreturn x", "sentence");
    refused("h = x\nfor v in x {\n  ensure v < 1\n  h = h + v\n}\nreturn h", "inside of a graph");
}

static void start(void)
{
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
}

static void stop(void)
{
    takt_ctx_destroy(ctx);
}

TEST_MAIN(start, clauses, places, off, samples, state, kept, texts, stop)
