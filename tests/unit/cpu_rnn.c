/* cpu_rnn.c - recurrent cells as one step: recognised in every form, with the bits of their bodies.
 *
 * Every case is planned twice: as it is, and with one more result of the body, which no cell has
 * and which therefore goes through the body's own plan, iteration by iteration.
 */
#include "test.h"
#include "util/rnn_run.h"
#include "util/rnn_text.h"

#include <stdio.h>
#include <string.h>

#include <takt/takt.h>

static takt_ctx *ctx;

static bool run_text(const char *text, int threads, rnn_result *r)
{
    const bool ok = rnn_run(ctx, text, &(takt_plan_options){.threads = threads}, r);
    if (!ok)
        printf("%s", text);
    return ok;
}

/* One task and several, against the body iteration by iteration. */
static void check(const rnn_text_form *f)
{
    rnn_text own = {.length = 0}, twin = {.length = 0};
    rnn_text_write(&own, f, false);
    rnn_text_write(&twin, f, true);
    rnn_result want, got;
    if (!run_text(twin.text, 1, &want))
        return;
    EXPECT(strcmp(want.kind, "scan") == 0 && want.note != NULL, "%s", want.kind);
    for (int threads = 1; threads <= 3; threads++) {
        if (!run_text(own.text, threads, &got))
            return;
        EXPECT(strcmp(got.kind, "rnn") == 0, "a %s: %s\n%s", got.kind,
               got.note != NULL ? got.note : "", own.text);
        EXPECT(memcmp(got.digest, want.digest, sizeof got.digest) == 0,
               "%d threads, %zu tasks: other bits\n%s", threads, got.tasks, own.text);
    }
}

static const char *const dtypes[] = {"f32", "f64", "f16", "bf16"};
static uint32_t state = 1;

static void every_form(void)
{
    for (int i = 0; i < 160; i++) {
        const rnn_text_form f = rnn_text_random(i, &state);
        check(&f);
    }
}

/* Large enough that rows or units are shared by threads. */
static void shared_work(void)
{
    for (int i = 0; i < 16; i++) {
        rnn_text_form f = rnn_text_random(i, &state);
        f.units = i % 2 == 0 ? 260 : 40;
        f.batch = i % 2 == 0 ? 1 + i % 3 : 70;
        f.length = 12;
        check(&f);
    }
    rnn_text_form f = rnn_text_random(1, &state);
    rnn_result r;
    rnn_text w = {.length = 0};
    f.units = 256;
    f.batch = 1;
    f.length = 20;
    rnn_text_write(&w, &f, false);
    if (run_text(w.text, 3, &r))
        EXPECT(r.tasks == 3, "%zu tasks", r.tasks);
}

/* The cells that the layers of the language produce. */
static void layers(void)
{
    static const char *const calls[] = {"lstm(5)",
                                        "gru(5)",
                                        "rnn(5)",
                                        "rnn(5, act=relu)",
                                        "gru(5, reverse=true)",
                                        "lstm(5, bidirectional=true)"};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        char text[200];
        rnn_result r;
        snprintf(text, sizeof text, "model m(x: f32[2, 6, 3]) { return x |> %s }\n", calls[i]);
        if (run_text(text, 1, &r))
            EXPECT(strcmp(r.kind, "rnn") == 0, "%s is a %s: %s", calls[i], r.kind, r.note);
    }
}

/* Weights that the body itself holds, as in ONNX's Scan. */
static void inner_weights(void)
{
    static const char *const texts[] = {
        "model m(h: %1$s[2, 3], x: %1$s[4, 2, 3]) {\n"
        "  last, all%2$s = scan(h, x, carried=1, body=graph(h: %1$s[2, 3], x: %1$s[2, 3]) {\n"
        "    r = constant(%1$s[3, 3], [0.5, -0.25, 1, 0.125, 2, -1, 0.75, 0.375, -0.5])\n"
        "    b = constant(%1$s[3], [0.1, -0.2, 0.3])\n"
        "    a = tanh(x + (h @ r + b))\n    return a, a%3$s\n  })\n  return last, all\n}\n",
        "model m(h: %1$s[3, 1], c: %1$s[3, 1], x: %1$s[5, 3, 4]) {\n"
        "  last, held, all%2$s = scan(h, c, x, carried=2, body=graph(h: %1$s[3, 1], "
        "c: %1$s[3, 1], x: %1$s[3, 4]) {\n"
        "    p = constant(%1$s[3], [0.5, -0.75, 1.5])\n"
        "    g = x + h @ constant(%1$s[1, 4], [0.5, -0.25, 1, 0.125])\n"
        "    i = sigmoid(g[:, 0:1] + p[0:1] * c)\n    f = sigmoid(g[:, 2:3] + p[2:3] * c)\n"
        "    d = f * c + i * tanh(g[:, 3:4])\n"
        "    a = sigmoid(g[:, 1:2] + p[1:2] * d) * tanh(d)\n    return a, d, a%3$s\n  })\n"
        "  return last, held, all\n}\n",
    };
    for (size_t i = 0; i < 2 * sizeof dtypes / sizeof *dtypes; i++) {
        char own[1200], twin[1200];
        rnn_result want, got;
        snprintf(own, sizeof own, texts[i % 2], dtypes[i / 2], "", "");
        snprintf(twin, sizeof twin, texts[i % 2], dtypes[i / 2], ", more", ", neg(h)");
        if (run_text(own, 1, &got) && run_text(twin, 1, &want))
            EXPECT(strcmp(got.kind, "rnn") == 0 && strcmp(want.kind, "scan") == 0 &&
                       memcmp(got.digest, want.digest, sizeof got.digest) == 0,
                   "%s: %s\n%s", got.kind, got.note != NULL ? got.note : "", own);
    }
}

/* Bodies that only resemble a cell keep their own plan, and state why. */
static void refused(void)
{
    static const char *const bodies[] = {
        "return softsign(x + h @ r), h",         /* an activation that no kernel has */
        "a = tanh((x + h @ r) + b) return a, a", /* another order of addition */
        "a = tanh(x + (h @ r) * b) return a, a", /* a product where a sum should be */
        "a = tanh(x + h @ r) return a, neg(a)",  /* not the state is given */
        "a = tanh(x + (x @ r + b)) + 0 * (h @ r) return a, a",   /* not the state is multiplied */
        "a = tanh(max(min(x + (h @ r + b), 1), b)) return a, a", /* no clip by numbers */
    };
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        char text[600];
        rnn_result r;
        snprintf(text, sizeof text,
                 "model m(h: f32[2, 4], x: f32[5, 2, 4], r: f32[4, 4], b: f32[4]) {\n"
                 "  last, all = scan(h, x, r, b, carried=1, body=graph(h: f32[2, 4], "
                 "x: f32[2, 4], r: f32[4, 4], b: f32[4]) {\n%s\n})\n  return last, all\n}\n",
                 bodies[i]);
        if (run_text(text, 1, &r))
            EXPECT(strcmp(r.kind, "scan") == 0 && r.note != NULL, "%s is a %s", bodies[i], r.kind);
    }
}

/* ---- ending early ---- */

static uint64_t ticks;

/* The clock advances by a millisecond whenever it is read. */
static uint64_t clock_of(void *user)
{
    (void)user;
    return ++ticks * UINT64_C(1000000);
}

static void deadline(void)
{
    static const char text[] = "model m(x: f32[1, 4000, 8]) { return x |> gru(256) }\n";
    const takt_config config = {.now_ns = clock_of};
    takt_ctx *own = NULL;
    takt_model *model = NULL;
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    for (int threads = 1; threads <= 2; threads++) {
        const takt_plan_options options = {.threads = threads};
        if (EXPECT_OK(NULL, takt_ctx_create(&config, &own)) &&
            EXPECT_OK(own, takt_model_load_memory(own, "m", text, strlen(text), NULL, &model)) &&
            EXPECT_OK(own, takt_plan_create(model, &options, &plan)) &&
            EXPECT_OK(own, takt_session_create(plan, NULL, &s))) {
            EXPECT(takt_session_input(s, 0)->data != NULL);
            /* Most polls are between the iterations of the gru: half of all polls is in the middle
             * of it. */
            const uint64_t before = ticks;
            EXPECT_OK(NULL, takt_session_run_deadline(s, UINT64_MAX / 2));
            const uint64_t looks = ticks - before;
            EXPECT_STATUS(NULL, takt_session_run_deadline(s, looks / 2 * UINT64_C(1000000)),
                          TAKT_ERR_DEADLINE);
            /* A thread that waits for the other may see it first, and knows no iteration. */
            const char *where = threads == 1 ? " of 4000 of " : "gru_0";
            EXPECT(strstr(takt_session_error(s)->message, where) != NULL, "%s",
                   takt_session_error(s)->message);
            EXPECT(takt_session_run(s) == TAKT_OK, "%s", takt_session_error(s)->message);
        }
        takt_session_destroy(s);
        takt_plan_destroy(plan);
        takt_model_destroy(model);
        takt_ctx_destroy(own);
        s = NULL;
        plan = NULL;
        model = NULL;
    }
}

static void open_all(void)
{
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
}

static void close_all(void)
{
    takt_ctx_destroy(ctx);
}

TEST_MAIN(open_all, every_form, shared_work, layers, inner_weights, refused, deadline, close_all)
