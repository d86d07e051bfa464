/* gpu_faults.c - the cuda backend with the tests' driver when something goes wrong: reasons,
 * faults, lost devices, failures of every call of the driver; and the choice of `auto`. */
#include <sys/wait.h>
#include <unistd.h>

#include "backend/gpu_session.h"

/* ---- why a device cannot be used ---- */

static void reasons(void)
{
    static const struct {
        gpu_settings set;
        const char *why, *which;
    } rows[] = {
        {{.init_result = TAKT_CU_STUB}, "stub", NULL},
        {{.init_result = TAKT_CU_NO_DEVICE}, "sees no device", NULL},
        {{.init_result = 3}, "does not start", NULL},
        {{.driver = 11080}, "for CUDA 11.8, and 12.0 is needed", NULL},
        {{.devices = -1}, "sees no device", NULL},
        {{.capability = 61}, "compute capability 6.1, and 7.5 is needed", NULL},
        {{.devices = 2}, "there is no device 7; the driver sees 2", "7"},
        {{.devices = 2}, "devices are called", "one"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        takt_ctx *ctx;
        takt_cuda *c;
        EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
        EXPECT(takt_cuda_open(ctx, gpu_driver(&rows[i].set), rows[i].which, &c) != TAKT_OK);
        EXPECT(strstr(takt_last_error(ctx), rows[i].why) != NULL, "%s", takt_last_error(ctx));
        EXPECT_EQ(gpu_count().live_objects, 0);
        takt_ctx_destroy(ctx);
    }
}

/* ---- faults and failures ---- */

#define PICK "model pick(i: i64[3], t: f32[4, 5]) -> (y: f32[3, 5]) {\n"
static const char pick[] = PICK "  return y = op.gather(t, i, axis=0) * 2\n}\n";
/* Later values may reuse the memory of the indices. */
static const char longer[] = PICK "  u = op.gather(t, i, axis=0)\n"
                                  "  v = u @ transpose(u, perm=[1, 0])\n"
                                  "  return y = (v @ v) @ u\n}\n";

static void index_faults_of(const char *text)
{
    takt_ctx *ctx;
    takt_model *m;
    size_t away;
    gpu_driver(&(gpu_settings){0});
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    EXPECT_OK(ctx, takt_backend_add(ctx, gpu_backend()));
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "pick", text, strlen(text), NULL, &m));
    takt_session *s = open_session(ctx, m, &(model){.path = "pick"}, "gpu", &away);
    if (s != NULL) {
        int64_t *index = takt_session_input(s, 0)->data;
        memcpy(index, (const int64_t[]){1, -4, 3}, 24);
        EXPECT_OK(NULL, takt_session_run(s));
        memcpy(index, (const int64_t[]){1, -9, 4}, 24);
        EXPECT(takt_session_run(s) != TAKT_OK);
        EXPECT(takt_session_error(s)->id == TAKT_E_INDEX);
        EXPECT(strstr(takt_session_error(s)->message, "index -9 (element 1)") != NULL, "%s",
               takt_session_error(s)->message);
        memcpy(index, (const int64_t[]){0, 1, 2}, 24);
        EXPECT(takt_session_run(s) == TAKT_OK, "a session is usable after a fault");
    }
    takt_session_destroy(s);
    takt_model_destroy(m);
    takt_ctx_destroy(ctx);
}

/* The element and the node are the cpu's. */
static void divide_faults(void)
{
    static const char text[] = "model share(x: i64[5], by: i64[5]) -> (y: i64[5]) {\n"
                               "  return y = (x + 7) / by - x\n}\n";
    takt_ctx *ctx;
    takt_model *m;
    size_t away, none;
    gpu_driver(&(gpu_settings){0});
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    EXPECT_OK(ctx, takt_backend_add(ctx, gpu_backend()));
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "share", text, strlen(text), NULL, &m));
    takt_session *s =
        open_session(ctx, m, &(model){.path = "share", .kind = "map", .most = 1}, "gpu", &away);
    takt_session *cpu = open_session(ctx, m, &(model){.path = "share"}, "cpu", &none);
    if (s != NULL && cpu != NULL) {
        const int64_t by[] = {3, -1, 0, 5, 0};
        memcpy(takt_session_input(s, 1)->data, by, sizeof by);
        memcpy(takt_session_input(cpu, 1)->data, by, sizeof by);
        EXPECT(takt_session_run(s) != TAKT_OK && takt_session_run(cpu) != TAKT_OK);
        EXPECT(takt_session_error(s)->id == TAKT_E_DIVIDE);
        EXPECT(strcmp(takt_session_error(s)->message, takt_session_error(cpu)->message) == 0,
               "%s, but %s", takt_session_error(s)->message, takt_session_error(cpu)->message);
    }
    takt_session_destroy(s);
    takt_session_destroy(cpu);
    takt_model_destroy(m);
    takt_ctx_destroy(ctx);
}

static void index_faults(void)
{
    index_faults_of(pick);
    index_faults_of(longer);
}

/* The life of a session in which call `k` of the driver fails. True if that call was reached. */
static bool fails_at(uint64_t k, int result, bool for_ever)
{
    takt_ctx *ctx;
    takt_model *m = NULL;
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    gpu_driver(&(gpu_settings){.fail_call = k, .fail_result = result, .fail_ever = for_ever});
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    EXPECT_OK(ctx, takt_backend_add(ctx, gpu_backend()));
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "pick", pick, strlen(pick), NULL, &m));
    const takt_plan_options o = {.backend = "gpu", .threads = 1};
    takt_status status = takt_plan_create(m, &o, &plan);
    if (status == TAKT_OK)
        status = takt_session_create(plan, NULL, &s);
    for (int run = 0; run < 2 && status == TAKT_OK; run++)
        status = takt_session_run(s);
    const bool reached = gpu_count().calls >= k && status != TAKT_OK;
    takt_session_destroy(s);
    takt_plan_destroy(plan);
    takt_model_destroy(m);
    takt_ctx_destroy(ctx);
    EXPECT(gpu_count().live_objects == 0 && gpu_count().live_bytes == 0 &&
               gpu_count().pinned_bytes == 0,
           "call %llu fails with %d: %d objects, %zu bytes are left", (unsigned long long)k, result,
           gpu_count().live_objects, gpu_count().live_bytes);
    return reached;
}

static void failing_calls(void)
{
    static const int results[] = {TAKT_CU_OUT_OF_MEMORY, 719};
    for (size_t r = 0; r < 2; r++) {
        size_t seen = 0;
        for (uint64_t k = 1; k < 120; k++)
            seen += fails_at(k, results[r], r == 1);
        EXPECT(seen > 30, "%zu calls failed", seen);
    }
}

/* A device that fails once is not used again; sessions on the cpu continue. */
static void lost_device(void)
{
    takt_ctx *ctx;
    takt_model *m;
    size_t away;
    gpu_driver(&(gpu_settings){0});
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    EXPECT_OK(ctx, takt_backend_add(ctx, gpu_backend()));
    EXPECT_OK(ctx, takt_model_load(ctx, "examples/mlp.takt", NULL, &m));
    const model row = {.path = "mlp", .sizes = "batch=2"};
    takt_session *a = open_session(ctx, m, &row, "gpu", &away);
    takt_session *b = open_session(ctx, m, &row, "gpu", &away);
    takt_session *cpu = open_session(ctx, m, &row, "cpu", &away);
    EXPECT_OK(NULL, takt_session_run(a));
    gpu_fail(1, 719, false);
    EXPECT_STATUS(NULL, takt_session_run(a), TAKT_ERR_DEVICE);
    EXPECT(takt_session_error(a)->id == TAKT_E_DEVICE_FAILED);
    EXPECT(strstr(takt_session_error(a)->message, "unspecified launch failure") != NULL, "%s",
           takt_session_error(a)->message);
    EXPECT(takt_session_run(b) == TAKT_ERR_DEVICE, "other sessions of the device fail at once");
    EXPECT_OK(NULL, takt_session_run(cpu));
    takt_session_destroy(a);
    takt_session_destroy(b);
    takt_session_destroy(cpu);
    takt_model_destroy(m);
    takt_ctx_destroy(ctx);
    EXPECT(gpu_count().live_objects == 0 && gpu_count().live_bytes == 0);
}

/* A forked child has no device: a run and a new session report that, and the parent's continue. */
static void forked(void)
{
    takt_ctx *ctx;
    takt_model *m;
    size_t away;
    int how = 0;
    gpu_driver(&(gpu_settings){0});
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    EXPECT_OK(ctx, takt_backend_add(ctx, gpu_backend()));
    EXPECT_OK(ctx, takt_model_load(ctx, "examples/mlp.takt", NULL, &m));
    takt_session *s =
        open_session(ctx, m, &(model){.path = "mlp", .sizes = "batch=2"}, "gpu", &away);
    const pid_t child = fork();
    if (child == 0) {
        takt_session *other = NULL;
        takt_plan *plan = NULL;
        const takt_plan_options o = {.backend = "gpu", .threads = 1, .sizes = "batch=2"};
        const bool refused = takt_session_run(s) == TAKT_ERR_DEVICE &&
                             strstr(takt_session_error(s)->message, "before a fork") != NULL;
        const bool no_other = takt_plan_create(m, &o, &plan) != TAKT_OK ||
                              takt_session_create(plan, NULL, &other) == TAKT_ERR_DEVICE;
        _exit(refused && no_other ? 7 : 1);
    }
    EXPECT(waitpid(child, &how, 0) == child && WIFEXITED(how) && WEXITSTATUS(how) == 7, "%d", how);
    EXPECT_OK(NULL, takt_session_run(s));
    takt_session_destroy(s);
    takt_model_destroy(m);
    takt_ctx_destroy(ctx);
    EXPECT(gpu_count().live_objects == 0 && gpu_count().live_bytes == 0);
}

/* The driver accepts the work, and the wait for it fails: from then on every call does. */
static void lost_in_graph(void)
{
    takt_ctx *ctx;
    takt_model *m;
    size_t away;
    gpu_driver(&(gpu_settings){0});
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    EXPECT_OK(ctx, takt_backend_add(ctx, gpu_backend()));
    EXPECT_OK(ctx, takt_model_load(ctx, "examples/mlp.takt", NULL, &m));
    const model row = {.path = "mlp", .sizes = "batch=2"};
    takt_session *a = open_session(ctx, m, &row, "gpu", &away);
    takt_session *b = open_session(ctx, m, &row, "gpu", &away);
    takt_session *cpu = open_session(ctx, m, &row, "cpu", &away);
    gpu_lose_in_graph();
    EXPECT_STATUS(NULL, takt_session_run(a), TAKT_ERR_DEVICE);
    EXPECT(strstr(takt_session_error(a)->message, "a segment failed") != NULL, "%s",
           takt_session_error(a)->message);
    EXPECT(strstr(takt_session_error(a)->hint, "restart") != NULL, "%s",
           takt_session_error(a)->hint);
    EXPECT(takt_session_run(b) == TAKT_ERR_DEVICE, "other sessions of the device fail at once");
    EXPECT(takt_session_run(a) == TAKT_ERR_DEVICE, "and so does this one, again");
    EXPECT_OK(NULL, takt_session_run(cpu));
    takt_session_destroy(a);
    takt_session_destroy(b);
    takt_session_destroy(cpu);
    takt_model_destroy(m);
    takt_ctx_destroy(ctx);
    EXPECT(gpu_count().live_objects == 0 && gpu_count().live_bytes == 0);
}

/* A clock that advances by a second whenever it is read. */
static uint64_t tick(void *user)
{
    return *(uint64_t *)user += UINT64_C(1000000000);
}

/* A kernel that never ends: the run gives up after a minute, all sessions of the device fail from
 * then on, and destroying them makes no driver call that would wait. */
static void stuck(void)
{
    takt_ctx *ctx;
    takt_model *m;
    size_t away;
    uint64_t now = 0;
    const takt_config config = {.now_ns = tick, .clock_user = &now};
    gpu_driver(&(gpu_settings){0});
    EXPECT_OK(NULL, takt_ctx_create(&config, &ctx));
    EXPECT_OK(ctx, takt_backend_add(ctx, gpu_backend()));
    EXPECT_OK(ctx, takt_model_load(ctx, "examples/mlp.takt", NULL, &m));
    const model row = {.path = "mlp", .sizes = "batch=2"};
    takt_session *a = open_session(ctx, m, &row, "gpu", &away);
    takt_session *b = open_session(ctx, m, &row, "gpu", &away);
    takt_session *cpu = open_session(ctx, m, &row, "cpu", &away);
    EXPECT_OK(NULL, takt_session_run(a));
    gpu_get_stuck();
    const uint64_t begin = now;
    EXPECT_STATUS(NULL, takt_session_run(a), TAKT_ERR_DEVICE);
    EXPECT(now - begin >= UINT64_C(60000000000) && now - begin < UINT64_C(80000000000));
    EXPECT(strstr(takt_session_error(a)->message, "no end within 60 s") != NULL, "%s",
           takt_session_error(a)->message);
    EXPECT(strstr(takt_session_error(a)->hint, "restart") != NULL);
    EXPECT(takt_session_run(b) == TAKT_ERR_DEVICE, "other sessions of the device fail at once");
    EXPECT_OK(NULL, takt_session_run(cpu));
    const gpu_counts before = gpu_count();
    takt_session_destroy(a);
    takt_session_destroy(b);
    takt_session_destroy(cpu);
    takt_model_destroy(m);
    takt_ctx_destroy(ctx);
    EXPECT(gpu_count().calls == before.calls, "nothing is asked that would wait");
    EXPECT(gpu_count().live_objects == before.live_objects);
}

/* A context that another library made current on this thread is current after every call. */
static void other_context(void)
{
    takt_ctx *ctx;
    takt_model *m;
    size_t away;
    int other;
    gpu_driver(&(gpu_settings){0});
    gpu_enter_other(&other);
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    EXPECT_OK(ctx, takt_backend_add(ctx, gpu_backend()));
    EXPECT_OK(ctx, takt_model_load(ctx, "examples/mlp.takt", NULL, &m));
    const model row = {.path = "mlp", .sizes = "batch=2"};
    takt_session *s = open_session(ctx, m, &row, "gpu", &away);
    EXPECT(gpu_current() == &other, "a session changes the current context");
    EXPECT_OK(NULL, takt_session_run(s));
    EXPECT(gpu_current() == &other, "a run changes the current context");
    takt_session_destroy(s);
    takt_model_destroy(m);
    takt_ctx_destroy(ctx);
    EXPECT(gpu_current() == &other, "an end changes the current context");
    EXPECT(gpu_count().wrong == NULL, "%s", gpu_count().wrong);
}

/* Shared memory allowed for a kernel of one session stays allowed when another needs less. */
static void shared_memory(void)
{
    static const char *const texts[] = {
        "model wide(x: f32[2, 30000]) -> (y: f32[2, 30000]) {\n  return y = softmax(x)\n}\n",
        "model narrow(x: f32[2, 14000]) -> (y: f32[2, 14000]) {\n  return y = softmax(x)\n}\n"};
    takt_ctx *ctx;
    takt_model *m[2];
    takt_session *s[2];
    size_t away;
    gpu_driver(&(gpu_settings){0});
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    EXPECT_OK(ctx, takt_backend_add(ctx, gpu_backend()));
    for (size_t i = 0; i < 2; i++) {
        EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", texts[i], strlen(texts[i]), NULL, &m[i]));
        s[i] = open_session(ctx, m[i], &(model){.path = "softmax", .kind = "rows"}, "gpu", &away);
    }
    for (size_t i = 0; i < 2; i++)
        EXPECT_OK(NULL, takt_session_run(s[i]));
    EXPECT(gpu_count().wrong == NULL, "%s", gpu_count().wrong);
    for (size_t i = 0; i < 2; i++) {
        takt_session_destroy(s[i]);
        takt_model_destroy(m[i]);
    }
    takt_ctx_destroy(ctx);
}

/* Device code that the driver refuses, such as an image without code for this device. */
static void refused_code(void)
{
    takt_ctx *ctx;
    takt_model *m;
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    bool seen = false;
    for (uint64_t k = 1; k < 200 && !seen; k++) {
        gpu_driver(&(gpu_settings){.fail_call = k, .fail_result = TAKT_CU_NO_BINARY});
        EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
        EXPECT_OK(ctx, takt_backend_add(ctx, gpu_backend()));
        EXPECT_OK(ctx, takt_model_load(ctx, "examples/mlp.takt", NULL, &m));
        const takt_plan_options o = {.sizes = "batch=2", .backend = "gpu", .threads = 1};
        takt_status status = takt_plan_create(m, &o, &plan);
        if (status == TAKT_OK)
            status = takt_session_create(plan, NULL, &s);
        seen = status == TAKT_ERR_DEVICE &&
               strstr(takt_last_error(ctx), "device code cannot be loaded") != NULL;
        EXPECT(!seen || strstr(takt_last_error(ctx), "CUDA error 209") != NULL, "%s",
               takt_last_error(ctx));
        takt_session_destroy(s);
        takt_plan_destroy(plan);
        takt_model_destroy(m);
        takt_ctx_destroy(ctx);
        s = NULL;
        plan = NULL;
    }
    EXPECT(seen, "no image was refused");
}

/* A plan that may choose takes the device where that is faster, and says why. */
static void chooses(void)
{
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"model small(x: f32[1, 64]) -> (y: f32[1, 10]) seed=1 {\n  return y = x |> dense(10)\n}\n",
         "cpu (auto: an island of"},
        {"model large(x: f32[2048, 2048]) -> (y: f32[2048, 2048]) seed=1 {\n"
         "  return y = x |> dense(2048) |> dense(2048)\n}\n",
         "gpu (auto: 2 of 2 steps)"},
    };
    for (size_t i = 0; i < 2; i++) {
        takt_ctx *ctx;
        takt_model *m;
        takt_plan *plan = NULL;
        char text[256] = "";
        gpu_driver(&(gpu_settings){0});
        EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
        EXPECT_OK(ctx, takt_backend_add(ctx, gpu_backend()));
        EXPECT_OK(ctx,
                  takt_model_load_memory(ctx, "m", rows[i].text, strlen(rows[i].text), NULL, &m));
        const takt_plan_options o = {.backend = "auto", .threads = 1};
        if (EXPECT_OK(ctx, takt_plan_create(m, &o, &plan)))
            takt_plan_backend(plan, text, sizeof text);
        EXPECT(strncmp(text, rows[i].says, strlen(rows[i].says)) == 0, "%s", text);
        takt_plan_destroy(plan);
        takt_model_destroy(m);
        takt_ctx_destroy(ctx);
    }
}

TEST_MAIN(reasons, chooses, shared_memory, index_faults, divide_faults, lost_device, forked,
          lost_in_graph, stuck, other_context, refused_code, failing_calls)
