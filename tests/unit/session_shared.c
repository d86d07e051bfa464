/* session_shared.c - sessions that share one state: a prompt is read by one plan, tokens by
 * another.
 *
 * The results have the bits of one session that sees it all. Two runs at once are refused. A run
 * that is stopped at any step leaves a cache whose next run gives the same result; data beyond the
 * part in use is not preserved.
 */
#include "test.h"

#include <string.h>

#include <takt/takt.h>

#include "api/session/session.h"

enum { WIDTH = 16, ALL = 10, PROMPT = 7 };

static takt_ctx *ctx;
static takt_model *model;
static float text[ALL * WIDTH];

static const char source[] = "model m(x: f32[1, seq, 16]) -> (y: f32[1, seq, 16]) seed=3 {\n"
                             "  return y = attention(x, 4, kv_heads=2, rotate=true, cache=12)\n}\n";

static void begin(void)
{
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", source, strlen(source), NULL, &model));
    for (size_t i = 0; i < ALL * WIDTH; i++)
        text[i] = (float)((int)((i * 2654435761u) >> 9 & 63) - 32) / 32;
}

static void end(void)
{
    takt_model_destroy(model);
    takt_ctx_destroy(ctx);
}

static takt_session *session_of(const char *sizes, takt_session *state_of)
{
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    const takt_plan_options o = {.sizes = sizes, .threads = 1};
    if (EXPECT_OK(ctx, takt_plan_create(model, &o, &plan)))
        EXPECT_OK(ctx,
                  takt_session_create(plan, &(takt_session_options){.state_of = state_of}, &s));
    takt_plan_destroy(plan);
    return s;
}

/* Rows [first, first + rows) of the text. */
static takt_status run(takt_session *s, size_t first, size_t rows)
{
    memcpy(takt_session_input(s, 0)->data, text + first * WIDTH, rows * WIDTH * sizeof *text);
    return takt_session_run(s);
}

static bool is_same(takt_session *got, const float *want, size_t first, size_t rows)
{
    return memcmp(takt_session_output(got, 0)->data, want + first * WIDTH,
                  rows * WIDTH * sizeof *want) == 0;
}

static void whole(float *to)
{
    takt_session *s = session_of("seq=10", NULL);
    if (s != NULL && EXPECT_OK(NULL, run(s, 0, ALL)))
        memcpy(to, takt_session_output(s, 0)->data, sizeof text);
    takt_session_destroy(s);
}

static void two_plans_on_one_cache(void)
{
    float want[ALL * WIDTH];
    whole(want);
    takt_session *prompt = session_of("seq=7", NULL), *token = session_of("seq=1", prompt);
    if (prompt == NULL || token == NULL)
        return;
    if (EXPECT_OK(NULL, run(prompt, 0, PROMPT)))
        EXPECT(is_same(prompt, want, 0, PROMPT));
    for (size_t i = PROMPT; i < ALL - 1; i++)
        EXPECT(run(token, i, 1) == TAKT_OK && is_same(token, want, i, 1), "row %zu", i);
    int64_t used = 0;
    takt_tensor_view view = {.dtype = TAKT_I64, .data = &used};
    if (EXPECT_OK(NULL, takt_session_state_get(prompt, "attention_0.used", &view)))
        EXPECT_EQ(used, ALL - 1);
    takt_session_destroy(prompt); /* the state survives */
    EXPECT(run(token, ALL - 1, 1) == TAKT_OK && is_same(token, want, ALL - 1, 1));
    takt_session_destroy(token);
}

typedef struct intruder {
    takt_session *other;
    takt_status run, get;
} intruder;

static void before(void *user, size_t step)
{
    intruder *in = user;
    int64_t used;
    takt_tensor_view view = {.dtype = TAKT_I64, .data = &used};
    if (step != 2)
        return;
    in->run = run(in->other, 0, 1);
    in->get = takt_session_state_get(in->other, "attention_0.used", &view);
}

static void after(void *user, size_t step)
{
    (void)user;
    (void)step;
}

static void a_second_run_at_once_is_refused(void)
{
    takt_session *a = session_of("seq=1", NULL), *b = session_of("seq=1", a);
    intruder in = {.other = b};
    const takt_watch watch = {.before = before, .after = after, .user = &in};
    if (a == NULL || b == NULL)
        return;
    a->watch = &watch;
    EXPECT_OK(NULL, run(a, 0, 1));
    a->watch = NULL;
    EXPECT(in.run == TAKT_ERR_STATE && in.get == TAKT_ERR_STATE, "%d, %d", (int)in.run,
           (int)in.get);
    EXPECT(strstr(takt_session_error(b)->message, "under way") != NULL, "%s",
           takt_session_error(b)->message);
    EXPECT(run(b, 1, 1) == TAKT_OK, "afterwards it may run");
    takt_session_destroy(b);
    takt_session_destroy(a);
}

static takt_status share(const char *text_of, takt_session *of)
{
    takt_model *other = NULL;
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "o", text_of, strlen(text_of), NULL, &other));
    EXPECT_OK(ctx, takt_plan_create(other, NULL, &plan));
    const takt_status status =
        takt_session_create(plan, &(takt_session_options){.state_of = of}, &s);
    takt_session_destroy(s);
    takt_plan_destroy(plan);
    takt_model_destroy(other);
    return status;
}

static void other_states_are_refused(void)
{
    takt_session *s = session_of("seq=1", NULL);
    EXPECT_STATUS(
        NULL,
        share("model o(x: f32[2]) {\n state n: f32[2] = 0\n next n = n + x\n return n\n}\n", s),
        TAKT_ERR_ARGUMENT);
    EXPECT(strstr(takt_last_error(ctx), "no state called n") != NULL, "%s", takt_last_error(ctx));
    EXPECT_STATUS(NULL,
                  share("model o(x: f32[1, 1, 16]) seed=3 {\n"
                        " return attention(x, 4, kv_heads=2, rotate=true, cache=9)\n}\n",
                        s),
                  TAKT_ERR_ARGUMENT);
    EXPECT(strstr(takt_last_error(ctx), "that session has f32[1, 12, 8]") != NULL, "%s",
           takt_last_error(ctx));
    EXPECT(share("model o(x: f32[2]) {\n  return relu(x)\n}\n", s) == TAKT_OK, "it has no state");
    EXPECT_OK(NULL, run(s, 0, 1));
    takt_session_destroy(s);
}

/* A session without states has none to share, with a plan or with another model's sizes. */
static void states_of_none_are_refused(void)
{
    static const char *const texts[] = {
        "model o(x: f32[n, 2]) {\n  return relu(x)\n}\n",
        "model o(x: f32[n, 2]) {\n  state c: f32[2] = 0\n  next c = c + x[0]\n  return x\n}\n"};
    takt_model *models[2] = {NULL, NULL};
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    for (int i = 0; i < 2; i++)
        EXPECT_OK(ctx,
                  takt_model_load_memory(ctx, "o", texts[i], strlen(texts[i]), NULL, &models[i]));
    EXPECT_OK(ctx, takt_plan_create(models[0], &(takt_plan_options){.sizes = "n=2"}, &plan));
    EXPECT_OK(ctx, takt_session_create(plan, NULL, &s));
    EXPECT_STATUS(NULL, share(texts[1], s), TAKT_ERR_ARGUMENT);
    EXPECT(strstr(takt_last_error(ctx), "no state called c") != NULL, "%s", takt_last_error(ctx));
    EXPECT_STATUS(NULL, takt_session_reshape(s, models[1], "n=3"), TAKT_ERR_SHAPE);
    EXPECT(strstr(takt_last_error(ctx), "the model is another one") != NULL, "%s",
           takt_last_error(ctx));
    EXPECT(takt_session_input(s, 0) != NULL && takt_session_run(s) == TAKT_OK, "it is as it was");
    EXPECT_OK(ctx, takt_session_reshape(s, models[0], "n=3"));
    takt_session_destroy(s);
    takt_plan_destroy(plan);
    takt_model_destroy(models[0]);
    takt_model_destroy(models[1]);
}

/* ---- stops ---- */

typedef struct stop {
    takt_session *session;
    size_t at;
} stop;

static void cancel(void *user, size_t step)
{
    const stop *s = user;
    if (step == s->at)
        takt_session_cancel(s->session);
}

static void a_stopped_run_leaves_the_cache_as_it_was(void)
{
    float want[ALL * WIDTH];
    whole(want);
    takt_session *prompt = session_of("seq=7", NULL), *token = session_of("seq=1", prompt);
    if (prompt == NULL || token == NULL)
        return;
    EXPECT_OK(NULL, run(prompt, 0, PROMPT));
    stop s = {.session = token};
    const takt_watch watch = {.before = after, .after = cancel, .user = &s};
    size_t stopped = 0, undone = 0;
    for (size_t i = 0; i < token->plan->step_count; i++)
        undone += token->plan->steps[i].undo != NULL;
    EXPECT(undone == 0, "what is appended needs no way back");
    for (s.at = 0; s.at + 2 < token->plan->step_count; s.at++) {
        token->watch = &watch;
        const takt_status status = run(token, 0, 1); /* another row: it must leave no trace */
        EXPECT(status == TAKT_ERR_CANCELLED, "step %zu: %d", s.at, (int)status);
        stopped += status != TAKT_OK;
        token->watch = NULL;
    }
    EXPECT_IS(stopped, >, 5);
    for (size_t i = PROMPT; i < ALL; i++)
        EXPECT(run(token, i, 1) == TAKT_OK && is_same(token, want, i, 1), "row %zu", i);
    takt_session_destroy(token);
    takt_session_destroy(prompt);
}

/* The cache is full: the step that would write beyond it faults, and the state stays. */
static void a_full_cache_is_an_error(void)
{
    takt_session *s = session_of("seq=7", NULL);
    if (s != NULL) {
        EXPECT_OK(NULL, run(s, 0, PROMPT));
        EXPECT_STATUS(NULL, run(s, 0, PROMPT), TAKT_ERR_RANGE);
        int64_t used = 0;
        takt_tensor_view view = {.dtype = TAKT_I64, .data = &used};
        if (EXPECT_OK(NULL, takt_session_state_get(s, "attention_0.used", &view)))
            EXPECT_EQ(used, PROMPT);
    }
    takt_session_destroy(s);
}

/* Another size takes the state over in place. */
static void reshaping_copies_no_state(void)
{
    float want[ALL * WIDTH];
    whole(want);
    takt_session *s = session_of("seq=7", NULL);
    if (s == NULL)
        return;
    const void *keys = takt_tensor_data(&s->state[1]);
    EXPECT_OK(NULL, run(s, 0, PROMPT));
    EXPECT_OK(NULL, takt_session_reshape(s, model, "seq=3"));
    EXPECT_SAME(takt_tensor_data(&s->state[1]), keys);
    if (EXPECT_OK(NULL, run(s, PROMPT, 3)))
        EXPECT(is_same(s, want, PROMPT, 3));
    takt_session_destroy(s);
}

/* A part of another session's states, in another order, warmed up and through a file. */
static void some_of_the_states(void)
{
    static const char both[] = "model b(x: f32[2]) {\n  state a: f32[40] = 1\n"
                               "  state n: f32[2] = 0\n  next n = n + x\n  next a = a * 2\n"
                               "  return n\n}\n";
    static const char one[] = "model o(x: f32[2]) {\n  state n: f32[2] = 0\n  next n = n + 2 * x\n"
                              "  return y = n + x\n}\n";
    takt_session *s[2] = {0};
    takt_model *m[2] = {0};
    for (int i = 0; i < 2; i++) {
        takt_plan *plan = NULL;
        const char *t = i == 0 ? both : one;
        const takt_session_options o = {.state_of = s[0]};
        EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", t, strlen(t), NULL, &m[i]));
        EXPECT_OK(ctx, takt_plan_create(m[i], NULL, &plan));
        EXPECT_OK(ctx, takt_session_create(plan, &o, &s[i]));
        takt_plan_destroy(plan);
        for (int k = 0; k < 2; k++)
            ((float *)takt_session_input(s[i], 0)->data)[k] = 1;
    }
    float n[2] = {0};
    takt_tensor_view view = {.dtype = TAKT_F32, .rank = 1, .dims = {2}, .data = n};
    EXPECT_OK(NULL, takt_session_run(s[0]));
    EXPECT_OK(NULL, takt_session_warmup(s[1]));
    if (EXPECT_OK(NULL, takt_session_state_get(s[0], "n", &view)))
        EXPECT_EQ(n[0], 1);
    EXPECT_OK(NULL, takt_session_run(s[1]));
    EXPECT_EQ(takt_session_state_get(s[0], "n", &view), TAKT_OK);
    EXPECT_EQ(n[0], 3);
    EXPECT_EQ(n[1], 3);
    EXPECT(takt_session_state_save(s[1], "shared_state.safetensors") == TAKT_OK, "%s",
           takt_last_error(ctx));
    EXPECT_OK(NULL, takt_session_run(s[1]));
    EXPECT(takt_session_state_load(s[1], "shared_state.safetensors") == TAKT_OK, "%s",
           takt_last_error(ctx));
    if (EXPECT_OK(NULL, takt_session_state_get(s[0], "n", &view)))
        EXPECT_EQ(n[0], 3);
    remove("shared_state.safetensors");
    for (int i = 0; i < 2; i++) {
        takt_session_destroy(s[i]);
        takt_model_destroy(m[i]);
    }
}

TEST_MAIN(begin, two_plans_on_one_cache, a_second_run_at_once_is_refused, other_states_are_refused,
          states_of_none_are_refused, a_stopped_run_leaves_the_cache_as_it_was,
          a_full_cache_is_an_error, reshaping_copies_no_state, some_of_the_states, end)
