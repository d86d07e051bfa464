/* session_state.c - state across runs: old or new whatever happens, the same bits in one chunk or
 * in many, preserved when sizes change. */
#include "test.h"

#include <string.h>

#include <takt/takt.h>

#include "api/session/session.h"

static const char stream_text[] = "layer causal(x, filters: int, kernel: int) {\n"
                                  "  state past: f32[1, dim(x, 1), kernel - 1] = 0\n"
                                  "  seen = concat(past, x, axis=2)\n"
                                  "  next past = seen[:, :, 1 - kernel:]\n"
                                  "  return conv(seen, filters, kernel, pad=valid, act=tanh)\n"
                                  "}\n"
                                  "model stream(x: f32[1, 4, n]) -> (y: f32[1, 2, n]) seed=5 {\n"
                                  "  return y = x |> causal(8, 5) |> causal(2, 3)\n"
                                  "}\n";

/* Several states, one of which depends on an index that may be wrong. */
static const char mixed_text[] = "model mixed(x: f32[4], at: i64[], by: i64[]) -> (y: f32[4]) {\n"
                                 "  state sum: f32[4] = 1\n"
                                 "  state turns: i64[] = 0\n"
                                 "  state rows: f32[8, 4] = 0\n"
                                 "  grown = update_slice(rows, reshape(x, shape=[1, 4]), at)\n"
                                 "  next sum = sum + x\n"
                                 "  next turns = turns + 7 / by\n"
                                 "  next rows = grown\n"
                                 "  return y = gather(grown, at) * sum\n"
                                 "}\n";

typedef struct fixture {
    takt_ctx *ctx;
    takt_model *model;
    takt_session *session;
    uint64_t now;
} fixture;

static uint64_t clock_of(void *user)
{
    return ((fixture *)user)->now;
}

/* `source` is a path, or a text. */
static bool begin(fixture *f, const char *source, const takt_plan_options *options)
{
    *f = (fixture){.now = 1};
    const takt_config config = {.now_ns = clock_of, .clock_user = f};
    takt_plan *plan = NULL;
    bool ok = EXPECT_OK(NULL, takt_ctx_create(&config, &f->ctx));
    ok = ok && (strchr(source, '\n') != NULL
                    ? EXPECT_OK(f->ctx, takt_model_load_memory(f->ctx, "text", source,
                                                               strlen(source), NULL, &f->model))
                    : EXPECT_OK(f->ctx, takt_model_load(f->ctx, source, NULL, &f->model)));
    ok = ok && EXPECT_OK(f->ctx, takt_plan_get(f->model, options, &plan)) &&
         EXPECT_OK(f->ctx, takt_session_create(plan, NULL, &f->session));
    takt_plan_destroy(plan);
    return ok;
}

static void end(fixture *f)
{
    takt_session_destroy(f->session);
    takt_model_destroy(f->model);
    takt_ctx_destroy(f->ctx);
}

static void run(fixture *f)
{
    EXPECT(takt_session_run(f->session) == TAKT_OK, "%s", takt_session_error(f->session)->message);
}

static size_t count_of(const takt_tensor_view *v)
{
    size_t n = 1;
    for (int d = 0; d < v->rank; d++)
        n *= (size_t)v->dims[d];
    return n;
}

static void fill(takt_session *s, uint32_t seed)
{
    for (size_t i = 0; i < takt_session_input_count(s); i++) {
        const takt_tensor_view *v = takt_session_input(s, i);
        for (size_t k = 0; k < count_of(v); k++) {
            seed = seed * 1664525u + 1013904223u;
            if (v->dtype == TAKT_F32)
                ((float *)v->data)[k] = ((float)(seed >> 16) - 32768.0f) / 16384.0f;
            else
                ((int64_t *)v->data)[k] = 1 + (int64_t)(seed >> 16) % 3;
        }
    }
}

/* All current slots, concatenated. */
static const void *state_of(const takt_session *s)
{
    static unsigned char copy[1 << 20];
    memset(copy, 0, sizeof copy); /* bytes between slots */
    if (EXPECT_IS(takt_session_state_bytes(s), <=, sizeof copy))
        EXPECT_OK(s->ctx, takt_session_save_state(s, copy));
    return copy;
}

/* ---- never torn ---- */

typedef enum accident { CANCEL, DEADLINE, FAULT } accident;

typedef struct trap {
    fixture *f;
    accident kind;
    size_t at;
} trap;

static void before(void *user, size_t step)
{
    trap *t = user;
    if (step == t->at && t->kind == CANCEL)
        takt_session_cancel(t->f->session);
    if (step == t->at && t->kind == DEADLINE)
        t->f->now += 1000;
}

/* A step that overwrites state detects faults before it writes, so it does not suit this test. */
static void after(void *user, size_t step)
{
    trap *t = user;
    const takt_step *s = &t->f->session->plan->steps[step];
    if (step == t->at && t->kind == FAULT && s->can_fault && s->undo == NULL)
        takt_fault_merge(&t->f->session->fault, &(takt_fault){.index = 0, .value = 99});
}

/* One run with a fault at step `t->at`; true if it had an effect. */
static bool one_accident(trap *t, const void *old, const void *new)
{
    static const takt_status expected[] = {TAKT_ERR_CANCELLED, TAKT_ERR_DEADLINE, TAKT_ERR_RANGE};
    takt_session *s = t->f->session;
    const size_t bytes = takt_session_state_bytes(s);
    const takt_watch watch = {.before = before, .after = after, .user = t};
    EXPECT_OK(s->ctx, takt_session_restore_state(s, old));
    s->watch = &watch;
    const takt_status status =
        t->kind == DEADLINE ? takt_session_run_deadline(s, 500) : takt_session_run(s);
    s->watch = NULL;
    EXPECT(status == TAKT_OK || status == expected[t->kind], "step %zu: %s", t->at,
           takt_session_error(s)->message);
    EXPECT(memcmp(state_of(s), status == TAKT_OK ? new : old, bytes) == 0,
           "%s: accident %d at step %zu leaves a torn state", s->plan->graph->name, (int)t->kind,
           t->at);
    /* The session works as before; a cancel that came too late does not end the next run. */
    EXPECT_OK(s->ctx, takt_session_restore_state(s, old));
    if (EXPECT_OK(NULL, takt_session_run(s)))
        EXPECT_EQ(memcmp(state_of(s), new, bytes), 0);
    return status != TAKT_OK;
}

static void never_torn_in(const char *source, const char *sizes, int threads)
{
    fixture f;
    const takt_plan_options options = {.sizes = sizes, .threads = threads};
    if (!begin(&f, source, &options)) {
        end(&f);
        return;
    }
    const size_t bytes = takt_session_state_bytes(f.session);
    const size_t steps = f.session->plan->step_count;
    void *old = malloc(bytes), *new = malloc(bytes);
    fill(f.session, 1);
    run(&f);
    memcpy(old, state_of(f.session), bytes);
    fill(f.session, 2);
    run(&f);
    memcpy(new, state_of(f.session), bytes);
    EXPECT(memcmp(old, new, bytes) != 0, "%s: the state does not move", source);
    size_t hits[3] = {0};
    for (int kind = CANCEL; kind <= FAULT; kind++)
        for (size_t k = 0; k < steps; k++)
            hits[kind] += one_accident(&(trap){&f, (accident)kind, k}, old, new);
    EXPECT(hits[CANCEL] > 0 && hits[DEADLINE] == hits[CANCEL], "%zu and %zu of %zu steps",
           hits[CANCEL], hits[DEADLINE], steps);
    free(old);
    free(new);
    end(&f);
}

static void never_torn(void)
{
    for (int threads = 1; threads <= 2; threads++) {
        never_torn_in("examples/stream.takt", NULL, threads);
        never_torn_in("examples/kv.takt", "rows=3", threads);
        never_torn_in(mixed_text, NULL, threads);
    }
}

static void faults_of_the_data(void)
{
    fixture f;
    if (begin(&f, mixed_text, NULL)) {
        takt_session *s = f.session;
        const size_t bytes = takt_session_state_bytes(s);
        void *old = malloc(bytes);
        fill(s, 3);
        int64_t *at = takt_session_input(s, 1)->data, *by = takt_session_input(s, 2)->data;
        run(&f);
        memcpy(old, state_of(s), bytes);
        *at = 8;
        EXPECT_STATUS(NULL, takt_session_run(s), TAKT_ERR_RANGE);
        EXPECT(strstr(takt_session_error(s)->message, "index 8") != NULL, "%s",
               takt_session_error(s)->message);
        EXPECT_EQ(memcmp(state_of(s), old, bytes), 0);
        *at = 0;
        *by = 0;
        EXPECT(takt_session_run(s) == TAKT_ERR_RANGE && takt_session_error(s)->id == 5002, "%s",
               takt_session_error(s)->message);
        EXPECT_EQ(memcmp(state_of(s), old, bytes), 0);
        *by = 1;
        run(&f);
        EXPECT_IS(memcmp(state_of(s), old, bytes), !=, 0);
        free(old);
    }
    end(&f);
}

/* ---- in one piece or in many ---- */

enum { LENGTH = 48 };

/* Runs `total` positions along `axis` of the only float input, `chunk` at a time. */
static void in_chunks(fixture *f, const char *dim, int axis, size_t chunk, float *y)
{
    static float x[64 * LENGTH];
    takt_session *s = f->session;
    char sizes[32];
    uint32_t seed = 9;
    for (size_t i = 0; i < sizeof x / sizeof *x; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = ((float)(seed >> 16) - 32768.0f) / 16384.0f;
    }
    takt_session_reset(s);
    for (size_t done = 0; done < LENGTH; done += chunk) {
        const size_t now = chunk < LENGTH - done ? chunk : LENGTH - done;
        snprintf(sizes, sizeof sizes, "%s=%zu", dim, now);
        if (!EXPECT_OK(f->ctx, takt_session_reshape(s, f->model, sizes)))
            return;
        takt_tensor_view in = {.dtype = TAKT_F32, .rank = 3}, out;
        memcpy(in.dims, takt_session_input_desc(s, 0)->dims, sizeof in.dims);
        out = in;
        memcpy(out.dims, takt_session_output_desc(s, 0)->dims, sizeof in.dims);
        /* The whole is a tensor of LENGTH positions; a chunk is a slice of it. */
        in.strides[0] = out.strides[0] = 64 * LENGTH;
        in.strides[1] = out.strides[1] = axis == 1 ? in.dims[2] : LENGTH;
        in.strides[2] = out.strides[2] = 1;
        in.data = x + (axis == 1 ? (int64_t)done * in.dims[2] : (int64_t)done);
        out.data = y + (axis == 1 ? (int64_t)done * in.dims[2] : (int64_t)done);
        EXPECT_OK(NULL, takt_session_bind(s, takt_session_input_desc(s, 0)->name, &in));
        EXPECT_OK(NULL, takt_session_bind(s, takt_session_output_desc(s, 0)->name, &out));
        run(f);
    }
}

static void pieces(const char *source, const char *dim, int axis)
{
    static float whole[64 * LENGTH], parts[64 * LENGTH];
    static const size_t chunks[] = {1, 5, 16, 31};
    fixture f;
    if (begin(&f, source, NULL)) {
        memset(whole, 0, sizeof whole);
        in_chunks(&f, dim, axis, LENGTH, whole);
        EXPECT_IS(whole[1], !=, 0);
        for (size_t i = 0; i < sizeof chunks / sizeof *chunks; i++) {
            memset(parts, 0, sizeof parts);
            in_chunks(&f, dim, axis, chunks[i], parts);
            EXPECT(memcmp(whole, parts, sizeof whole) == 0, "%.20s: chunks of %zu differ", source,
                   chunks[i]);
        }
    }
    end(&f);
}

/* `format` makes the model with stream=true or false: in pieces as in one go without any state. */
static void streamed(const char *format, int axis)
{
    static float plain[64 * LENGTH], stream[64 * LENGTH];
    char text[1024];
    fixture f;
    snprintf(text, sizeof text, format, "true");
    pieces(text, "n", axis);
    memset(stream, 0, sizeof stream);
    if (begin(&f, text, NULL))
        in_chunks(&f, "n", axis, 7, stream);
    end(&f);
    snprintf(text, sizeof text, format, "false");
    memset(plain, 0, sizeof plain);
    if (begin(&f, text, NULL)) {
        EXPECT_EQ(takt_model_input_count(f.model), 1);
        EXPECT_EQ(f.session->plan->state_bytes, 0);
        in_chunks(&f, "n", axis, LENGTH, plain);
    }
    EXPECT(memcmp(plain, stream, sizeof plain) == 0, "%s", format);
    end(&f);
}

static void streaming_equals_one_shot(void)
{
    pieces(stream_text, "n", 2);
    streamed("layer part(x, stream: bool) {\n"
             "  y = conv1d(x, 8, 5, pad=causal, stream=stream, act=tanh)\n"
             "  return conv1d(y, 4, 3, dilation=2, pad=causal, stream=stream)\n"
             "}\n"
             "model s(x: f32[1, 4, n]) -> (y: f32[1, 4, n]) seed=2 { return y = part(x, %s) }\n",
             2);
    streamed("model s(x: f32[1, n, 8]) -> (y: f32[1, n, 8]) seed=3 {\n"
             "  return y = gru(x, 8, layers=2, stream=%s)\n"
             "}\n",
             1);
    streamed("model s(x: f32[1, n, 8]) -> (y: f32[1, n, 8]) seed=4 {\n"
             "  return y = lstm(x, 8, stream=%s)\n"
             "}\n",
             1);
    streamed("model s(x: f32[1, n, 5]) -> (y: f32[1, n, 5]) seed=5 {\n"
             "  return y = rnn(x, 5, layers=3, stream=%s)\n"
             "}\n",
             1);
}

static void prefill_equals_decode(void)
{
    pieces("examples/kv.takt", "rows", 1);
    pieces("model s(x: f32[1, rows, 16]) -> (y: f32[1, rows, 16]) seed=6 {\n"
           "  x = transformer_block(x, 4, 24, kv_heads=2, cache=48, rotate=true, gated=true)\n"
           "  return y = transformer_block(x, 2, 24, norm=rms_norm, cache=50)\n"
           "}\n",
           "rows", 1);
}

/* ---- reset and reshape ---- */

static void reset_begins_anew(void)
{
    fixture f;
    if (begin(&f, "examples/stream.takt", NULL)) {
        takt_session *s = f.session;
        float first[32], again[32];
        fill(s, 4);
        run(&f);
        memcpy(first, takt_session_output(s, 0)->data, sizeof first);
        run(&f);
        EXPECT_IS(memcmp(first, takt_session_output(s, 0)->data, sizeof first), !=, 0);
        takt_session_reset(s);
        run(&f);
        memcpy(again, takt_session_output(s, 0)->data, sizeof again);
        EXPECT_EQ(memcmp(first, again, sizeof first), 0);
    }
    end(&f);
}

static void state_of_another_shape(void)
{
    static const char text[] = "model wide(x: f32[n]) -> (y: f32[n]) {\n"
                               "  state sum: f32[n] = 0.5\n"
                               "  next sum = sum + x\n"
                               "  return y = sum + x\n"
                               "}\n";
    fixture f;
    if (begin(&f, text, &(takt_plan_options){.sizes = "n=3"})) {
        takt_session *s = f.session;
        float x[3] = {1, 2, 3};
        takt_tensor_view v = {.dtype = TAKT_F32, .rank = 1, .dims = {3}, .data = x};
        EXPECT_OK(NULL, takt_session_bind(s, "x", &v));
        run(&f);
        const float *y = takt_session_output(s, 0)->data;
        EXPECT(y[0] == 1.5f && y[2] == 3.5f, "%g %g", (double)y[0], (double)y[2]);
        EXPECT_STATUS(f.ctx, takt_session_reshape(s, f.model, "n=4"), TAKT_ERR_SHAPE);
        EXPECT(takt_session_error(s)->id == 5008, "%s", takt_session_error(s)->message);
        EXPECT_STATUS(f.ctx, takt_session_reshape(s, f.model, "m=4"), TAKT_ERR_NOT_FOUND);
        EXPECT_SAME(takt_session_input(s, 0)->data, x);
        run(&f);
        EXPECT(y[0] == 2.5f, "%g", (double)y[0]);
        EXPECT_OK(f.ctx, takt_session_reshape(s, f.model, "n=3"));
        EXPECT(takt_session_run(s) == TAKT_OK || takt_session_error(s)->id == 1004);
    }
    end(&f);
}

TEST_MAIN(never_torn, faults_of_the_data, streaming_equals_one_shot, prefill_equals_decode,
          reset_begins_anew, state_of_another_shape)
