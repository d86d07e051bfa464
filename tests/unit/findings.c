/* findings.c - the causes in a profile: each is provoked, and found with its figure. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <takt/takt.h>
#include <unistd.h>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "os/os.h"
#include "test.h"

typedef struct result {
    takt_text text;
    takt_arena arena;
    const takt_json *root;
} result;

static takt_ctx *ctx;
static takt_ceilings ceilings;
static uint64_t log_ns, duration_ns = 20000000;

static int to_text(void *user, const char *bytes, size_t length)
{
    takt_text_put(user, bytes, length);
    return 0;
}

static takt_session *open_session(const char *text, int threads)
{
    takt_model *model = NULL;
    takt_plan *plan = NULL;
    takt_session *session = NULL;
    const takt_plan_options options = {.threads = threads};
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", text, strlen(text), NULL, &model));
    EXPECT_OK(ctx, takt_plan_create(model, &options, &plan));
    EXPECT_OK(ctx, takt_session_create(plan, NULL, &session));
    EXPECT_OK(ctx, takt_view_random(ctx, takt_session_input(session, 0), 0, 0));
    takt_plan_destroy(plan);
    takt_model_destroy(model);
    return session;
}

static result profile(takt_session *session)
{
    result r = {.root = NULL};
    takt_profile *p = NULL;
    const takt_profile_options options = {.ceilings = &ceilings, .runs = 20, .max_ns = duration_ns};
    takt_text_init(&r.text, ctx);
    takt_arena_init(&r.arena, ctx);
    EXPECT_OK(ctx, takt_profile_create(session, &options, &p));
    EXPECT_OK(ctx,
              takt_profile_print(p, TAKT_PROFILE_STEPS, 0, TAKT_FORMAT_JSON, to_text, &r.text));
    EXPECT_OK(ctx, takt_json_parse(ctx, &r.arena, takt_text_get(&r.text), r.text.length, &r.root));
    takt_profile_destroy(p);
    return r;
}

static void done(result *r, takt_session *session)
{
    takt_arena_deinit(&r->arena);
    takt_text_deinit(&r->text);
    takt_session_destroy(session);
}

/* The finding of that cause about the whole run, in `list`; or NULL. */
static const takt_json *about(const result *r, const char *list, const char *cause)
{
    const takt_json *rows = takt_json_get(r->root, list);
    for (const takt_json *row = takt_json_first(rows); row != NULL; row = takt_json_next(row))
        if (strcmp(takt_json_get(row, "cause")->text, cause) == 0 &&
            takt_json_get(row, "step")->text_length == 0)
            return row;
    return NULL;
}

static double number_of(const takt_json *row, const char *key)
{
    const takt_json *value = row != NULL ? takt_json_get(row, key) : NULL;
    return value != NULL ? value->number : NAN;
}

/* Whether the profile rules that cause out with a figure, and its gain is next to nothing. */
static bool is_ruled_out(const result *r, const char *cause)
{
    const takt_json *found = about(r, "ruled_out", cause);
    return found != NULL && takt_json_get(found, "figure")->text_length > 0 &&
           number_of(found, "largest_gain") < 0.02;
}

/* Whether the profile names that cause with a figure, as a cause or as ruled out. */
static bool is_named(const result *r, const char *cause)
{
    const takt_json *found = about(r, "ruled_out", cause);
    if (found == NULL)
        found = about(r, "findings", cause);
    return found != NULL && takt_json_get(found, "figure")->text_length > 0;
}

/* A model that computes long on little data: every cause is listed, and none of these is to blame.
 * Two of them are times that other load can stretch: one good profile of several is enough. Under
 * sanitizers copies are expensive, so the result differs. */
static void nothing(void)
{
    static const char *const causes[] = {"data loading", "allocation", "serialisation", "logging"};
    enum { TRIES = 8 };
    takt_session *session = open_session("model m(x: f32[64, 64]) -> f32[64, 64] {\n"
                                         "  h = x\n  repeat 12 { h = tanh(h @ x) }\n"
                                         "  return softmax(h)\n}\n",
                                         1);
    for (size_t i = 0; i < 4; i++) {
        bool is_done = false;
        for (int t = 0; t < TRIES && !is_done; t++) {
            result r = profile(session);
            EXPECT(is_named(&r, causes[i]), "%s", causes[i]);
            EXPECT(takt_json_first(takt_json_get(r.root, "findings")) != NULL);
            is_done = is_ruled_out(&r, causes[i]) || TEST_SANITIZED;
            done(&r, NULL);
        }
        EXPECT(is_done, "%s", causes[i]);
    }
    takt_session_destroy(session);
}

/* Every thread's work and wait of a shared step is its time. */
static void threads(void)
{
    takt_session *session = open_session("model m(x: f32[256, 256]) -> f32[256, 256] {\n"
                                         "  return x @ x\n}\n",
                                         2);
    result r = profile(session);
    const takt_json *step = takt_json_first(takt_json_get(r.root, "per_op"));
    const takt_json *each = takt_json_get(step, "per_thread");
    EXPECT(each != NULL && each->count == 2);
    for (const takt_json *t = takt_json_first(each); t != NULL; t = takt_json_next(t)) {
        const double sum = number_of(t, "busy_us") + number_of(t, "wait_us");
        EXPECT(fabs(sum - number_of(step, "time_us")) < 1e-6 * sum + 1e-9, "%g", sum);
    }
    EXPECT_IS(number_of(step, "wait"), >=, 0);
    EXPECT_IS(number_of(step, "wait"), <, 1);
    EXPECT_IS(number_of(step, "imbalance"), >=, 0);
    EXPECT_IS(number_of(step, "imbalance"), <=, 1 + 1e-6);
    EXPECT(about(&r, "findings", "synchronisation") != NULL ||
           about(&r, "ruled_out", "synchronisation") != NULL || number_of(step, "wait") > 0.25);
    done(&r, session);
}

static const char custom[] =
    "model m(x: f32[4]) -> f32[4] {\n"
    "  return custom(x, name=\"mine\", body=graph(x: f32[4]) { return x * x })\n}\n";

static void allocates(void *user, const takt_tensor_view *in, size_t in_count,
                      const takt_tensor_view *out, size_t out_count)
{
    (void)user, (void)in_count, (void)out_count;
    for (int i = 0; i < 100; i++)
        takt_free(ctx, takt_alloc(ctx, 4096));
    memcpy(out->data, in->data, 16);
}

static void allocation(void)
{
    EXPECT_OK(ctx, takt_register_op(ctx, &(takt_op_def){.name = "mine", .run = allocates}));
    takt_session *session = open_session(custom, 1);
    result r = profile(session);
    const takt_json *found = about(&r, "findings", "allocation");
    EXPECT(found != NULL && strstr(takt_json_get(found, "figure")->text, "100 a run") != NULL);
    done(&r, session);
}

static void slow_log(void *user, takt_log_level level, const char *line)
{
    (void)user, (void)level, (void)line;
    takt_os_sleep_until(takt_os_now_ns(NULL) + log_ns);
}

static void logs(void *user, const takt_tensor_view *in, size_t in_count,
                 const takt_tensor_view *out, size_t out_count)
{
    (void)user, (void)in_count, (void)out_count;
    takt_log(ctx, TAKT_LOG_INFO, "here");
    memcpy(out->data, in->data, 16);
}

static void logging(void)
{
    log_ns = 100000;
    EXPECT_OK(ctx, takt_register_op(ctx, &(takt_op_def){.name = "mine", .run = logs}));
    takt_session *session = open_session(custom, 1);
    result r = profile(session);
    const takt_json *found = about(&r, "findings", "logging");
    EXPECT(found != NULL && number_of(found, "largest_gain") > 0.5);
    EXPECT_TEXT(takt_json_get(found, "figure")->text, "1 messages a run");
    done(&r, session);
}

/* An input in Fortran order whose readers want it otherwise is moved by every run of a model that
 * does little else. */
static void loading(void)
{
    takt_session *session = open_session("model m(x: f32[512, 512]) {\n"
                                         "  return relu(x) + reduce_sum(x, axes=[0])\n}\n",
                                         1);
    takt_tensor_view x = {.dtype = TAKT_F32, .rank = 2, .dims = {512, 512}};
    EXPECT_OK(ctx, takt_view_alloc(ctx, &x));
    x.strides[0] = 1, x.strides[1] = 512;
    EXPECT_OK(ctx, takt_session_bind(session, "x", &x));
    result r = profile(session);
    const takt_json *found = about(&r, "findings", "data loading");
    if (found == NULL) /* among runs that others disturb, or sanitizers, a move is little */
        found = about(&r, "ruled_out", "data loading");
    const char *figure = found != NULL ? takt_json_get(found, "figure")->text : "none";
    EXPECT(strncmp(figure, "every run copies x: ", 20) == 0, "%s", figure);
    EXPECT_EQ(number_of(r.root, "moved_buffers"), 1);
    EXPECT_IS(number_of(r.root, "moves_us"), >, 0);
    const double gain = number_of(found, "largest_gain");
    EXPECT(gain > 0 && gain <= 1, "%g", gain);
    done(&r, session);
    takt_view_free(ctx, &x);
}

/* Other processes use every processor: they are named first, and no batch size is blamed. */
static void busy_machine(void)
{
    enum { SPINNERS = 8 };
    const pid_t parent = getpid();
    pid_t child[SPINNERS];
    /* Real-time classes, which this may have been started in, take turns of 100 ms. */
    sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){0});
    takt_session *session = open_session("model m(x: f32[256, 256]) -> f32[256, 256] {\n"
                                         "  return x @ x\n}\n",
                                         2);
    for (int i = 0; i < SPINNERS; i++) {
        child[i] = fork();
        while (child[i] == 0 && getppid() == parent)
            continue;
        if (child[i] == 0) /* nothing remains that would stop it */
            _exit(1);
    }
    duration_ns = 300000000;
    result r = profile(session);
    duration_ns = 20000000;
    for (int i = 0; i < SPINNERS; i++)
        if (child[i] > 0) {
            kill(child[i], SIGKILL);
            waitpid(child[i], NULL, 0);
        }
    const takt_json *rows = takt_json_get(r.root, "findings"), *first = takt_json_first(rows);
    const takt_json *unknown = about(&r, "unknown", "machine");
    EXPECT(about(&r, "ruled_out", "machine") == NULL);
    if (unknown == NULL) {
        EXPECT_TEXT(takt_json_get(first, "cause")->text, "machine");
        EXPECT_IS(number_of(first, "largest_gain"), >, 0.05);
    } else { /* if the system does not report it */
        EXPECT(strstr(takt_json_get(unknown, "figure")->text, "unavailable") != NULL);
    }
    for (const takt_json *row = first; unknown == NULL && row != NULL; row = takt_json_next(row))
        if (strcmp(takt_json_get(row, "cause")->text, "synchronisation") == 0)
            EXPECT(strstr(takt_json_get(row, "remedy")->text, "batch") == NULL);
    done(&r, session);
}

static void begin(void)
{
    EXPECT_OK(NULL, takt_ctx_create(&(takt_config){.log = slow_log}, &ctx));
    EXPECT_OK(ctx, takt_ceilings_get(ctx, NULL, true, &ceilings));
}

static void end(void)
{
    takt_ctx_destroy(ctx);
}

TEST_MAIN(begin, nothing, threads, allocation, logging, loading, busy_machine, end)
