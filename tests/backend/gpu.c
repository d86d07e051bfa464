/* gpu.c - the cuda backend over a driver of the tests: every op's samples, models with the cpu's
 * bits, reasons, faults, and failures of every call of the driver. */
#include <string.h>

#include <takt/takt.h>

#include "api/backends.h"
#include "backend/samples.h"
#include "util/gpu.h"

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
        EXPECT(gpu_count().live_objects == 0);
        takt_ctx_destroy(ctx);
    }
}

/* ---- samples ---- */

static void conforms(void)
{
    gpu_driver(&(gpu_settings){.order = GRID_SHUFFLED});
    samples_run run = {.backend = "gpu", .added = gpu_backend(), .may_fall_back = true};
    for (size_t i = 0; i < takt_op_count; i++)
        samples_visit(takt_ops[i], &run, false);
    EXPECT(run.checked > 100 && run.refused == 0, "%zu samples checked, %zu refused", run.checked,
           run.refused);
    const gpu_counts n = gpu_count();
    EXPECT(n.wrong == NULL, "%s", n.wrong);
    EXPECT(n.launches > 1000, "%llu launches", (unsigned long long)n.launches);
    EXPECT(n.live_objects == 0 && n.live_bytes == 0 && n.pinned_bytes == 0,
           "%d objects, %zu bytes, %zu pinned are left", n.live_objects, n.live_bytes,
           n.pinned_bytes);
}

/* ---- models ---- */

typedef struct model {
    const char *path, *sizes;
    bool may_stay;    /* on the cpu: copies would cost more than the device saves */
    const char *text; /* NULL: a file */
    const char *kind; /* of a step that must be there, or NULL */
    size_t most;      /* steps on the device, or 0 */
} model;

#define ATTENTION(name, keys, heads, kv, more)                                                     \
    "model " name "(q: f32[2, 9, 24], k: f32[2, " #keys ", " #kv " * 4], v: f32[2, " #keys         \
    ", " #kv " * 5]) -> (y: f32[2, 9, " #heads " * 5]) {\n"                                        \
    "  return y = op.attention(q, k, v, heads=" #heads ", kv_heads=" #kv more ")\n}\n"

static const model models[] = {
    {.path = "examples/mlp.takt", .sizes = "batch=3", .may_stay = false},
    {.path = "examples/mlp.takt", .sizes = "batch=33", .may_stay = false},
    {.path = "examples/cnn.takt", .sizes = "batch=2", .may_stay = true},
    {.path = "examples/encoder.takt", .sizes = "batch=2,seq=19", .may_stay = false},
    {.path = "examples/gpt.takt", .sizes = NULL, .may_stay = false},
    {.path = "examples/stream.takt", .sizes = NULL, .may_stay = true},
    {"all", NULL, false, ATTENTION("all", 700, 6, 6, ""), "attention", 1},
    {"causal", NULL, false, ATTENTION("causal", 11, 6, 2, ", causal=true"), "attention", 1},
    {"ending", NULL, false,
     "model ending(x: f32[37, 300], r: f32[37, 66]) -> (y: f32[37, 66]) seed=1 {\n"
     "  h = x |> dense(66) |> relu6()\n  return y = tanh(h + r) * 2 - r\n}\n",
     "gemm", 1},
    {"block", NULL, false,
     "model block(x: f32[2, 8, 19, 17]) -> (y: f32[2, 8, 19, 17]) seed=1 {\n"
     "  h = x |> conv(12, 1) |> relu6() |> depthwise(3) |> relu6()\n"
     "  h = h |> conv(8, 3, bias=false) |> batch_norm()\n  return y = relu(h + x)\n}\n",
     "conv", 5},
    {"winograd", NULL, false,
     "model winograd(x: f32[2, 24, 22, 19]) -> (y: f32[2, 24, 22, 19]) seed=1 {\n"
     "  h = x |> conv(32, 3) |> relu6()\n"
     "  h = h |> conv(24, 3, bias=false) |> batch_norm()\n  return y = relu(h + x)\n}\n",
     "winograd", 4},
};

static size_t bytes_of(const takt_tensor_view *v)
{
    size_t n = (size_t)takt_dtype_bits(v->dtype) / 8;
    for (int d = 0; d < v->rank; d++)
        n *= (size_t)v->dims[d];
    return n;
}

static void fill(const takt_tensor_view *v, uint32_t x)
{
    const size_t n = bytes_of(v) / ((size_t)takt_dtype_bits(v->dtype) / 8);
    for (size_t i = 0; i < n; i++) {
        x = x * 1664525u + 1013904223u;
        if (v->dtype == TAKT_F32)
            ((float *)v->data)[i] = ((float)(x >> 16) - 32768.0f) / 16384.0f;
        else if (v->dtype == TAKT_I64)
            ((int64_t *)v->data)[i] = (int64_t)(x >> 16) % 7;
    }
}

static takt_session *open_session(takt_ctx *ctx, const takt_model *m, const model *row,
                                  const char *backend, size_t *away)
{
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    const takt_plan_options o = {.sizes = row->sizes, .backend = backend, .threads = 1};
    if (EXPECT_OK(ctx, takt_plan_create(m, &o, &plan)) &&
        EXPECT_OK(ctx, takt_session_create(plan, NULL, &s)))
        for (size_t i = 0; i < takt_session_input_count(s); i++)
            fill(takt_session_input(s, i), 12345 + (uint32_t)i);
    *away = 0;
    bool has_kind = row->kind == NULL || strcmp(backend, "gpu") != 0;
    size_t computing = 0;
    for (size_t i = 0; plan != NULL && i < plan->step_count; i++) {
        const takt_step *step = &plan->steps[i];
        if (strcmp(step->backend->name, "gpu") != 0)
            continue;
        ++*away;
        computing += step->transfer.way == TAKT_COPY_NONE;
        has_kind |= row->kind != NULL && strcmp(step->kind, row->kind) == 0;
    }
    EXPECT(has_kind, "%s: no step is %s", row->path, row->kind);
    EXPECT(row->most == 0 || computing <= row->most, "%s: %zu steps", row->path, computing);
    takt_plan_destroy(plan);
    return s;
}

static void same_bits(const model *row)
{
    takt_ctx *ctx;
    takt_model *m;
    size_t away, none;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    EXPECT_OK(ctx, takt_backend_add(ctx, gpu_backend()));
    if (EXPECT_OK(ctx, row->text == NULL ? takt_model_load(ctx, row->path, NULL, &m)
                                         : takt_model_load_memory(ctx, row->path, row->text,
                                                                  strlen(row->text), NULL, &m))) {
        takt_session *gpu = open_session(ctx, m, row, "gpu", &away);
        takt_session *cpu = open_session(ctx, m, row, "cpu", &none);
        EXPECT(away > 0 || row->may_stay, "%s: nothing runs on the device", row->path);
        for (int run = 0; gpu != NULL && cpu != NULL && run < 3; run++) {
            const uint64_t made = gpu_count().graphs_made;
            EXPECT(takt_session_run(gpu) == TAKT_OK, "%s: %s", row->path,
                   takt_session_error(gpu)->message);
            EXPECT(takt_session_run(cpu) == TAKT_OK);
            EXPECT(gpu_count().graphs_made == made, "a run makes graphs");
            for (size_t i = 0; i < takt_session_output_count(cpu); i++)
                EXPECT(memcmp(takt_session_output(cpu, i)->data, takt_session_output(gpu, i)->data,
                              bytes_of(takt_session_output(cpu, i))) == 0,
                       "%s: output %zu of run %d differs", row->path, i, run);
        }
        takt_session_destroy(gpu);
        takt_session_destroy(cpu);
        takt_model_destroy(m);
    }
    takt_ctx_destroy(ctx);
    const gpu_counts n = gpu_count();
    EXPECT(n.wrong == NULL, "%s: %s", row->path, n.wrong);
    EXPECT(n.live_objects == 0 && n.live_bytes == 0 && n.pinned_bytes == 0,
           "%s: %d objects, %zu bytes, %zu pinned are left", row->path, n.live_objects,
           n.live_bytes, n.pinned_bytes);
}

static void model_bits(void)
{
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        gpu_driver(&(gpu_settings){.order = (grid_order)(i % GRID_ORDERS)});
        same_bits(&models[i]);
    }
}

/* ---- faults and failures ---- */

#define PICK "model pick(i: i64[3], t: f32[4, 5]) -> (y: f32[3, 5]) {\n"
static const char pick[] = PICK "  return y = op.gather(t, i, axis=0) * 2\n}\n";
/* What follows may lie where the indices were. */
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
        EXPECT(takt_session_run(s) == TAKT_OK);
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

static void index_faults(void)
{
    index_faults_of(pick);
    index_faults_of(longer);
}

/* A whole life of a session in which call `k` of the driver fails. True if it came to that. */
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

/* A device that fails once stays away; sessions on the cpu go on. */
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
    EXPECT(takt_session_run(a) == TAKT_OK);
    gpu_fail(1, 719, false);
    EXPECT(takt_session_run(a) == TAKT_ERR_DEVICE);
    EXPECT(takt_session_error(a)->id == TAKT_E_DEVICE_FAILED);
    EXPECT(strstr(takt_session_error(a)->message, "unspecified launch failure") != NULL, "%s",
           takt_session_error(a)->message);
    EXPECT(takt_session_run(b) == TAKT_ERR_DEVICE, "other sessions of the device fail at once");
    EXPECT(takt_session_run(cpu) == TAKT_OK);
    takt_session_destroy(a);
    takt_session_destroy(b);
    takt_session_destroy(cpu);
    takt_model_destroy(m);
    takt_ctx_destroy(ctx);
    EXPECT(gpu_count().live_objects == 0 && gpu_count().live_bytes == 0);
}

/* The driver takes the work, and the wait for it fails: from then on every call does. */
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
    EXPECT(takt_session_run(a) == TAKT_ERR_DEVICE);
    EXPECT(strstr(takt_session_error(a)->message, "a segment failed") != NULL, "%s",
           takt_session_error(a)->message);
    EXPECT(strstr(takt_session_error(a)->hint, "restart") != NULL, "%s",
           takt_session_error(a)->hint);
    EXPECT(takt_session_run(b) == TAKT_ERR_DEVICE, "other sessions of the device fail at once");
    EXPECT(takt_session_run(a) == TAKT_ERR_DEVICE, "and so does this one, again");
    EXPECT(takt_session_run(cpu) == TAKT_OK);
    takt_session_destroy(a);
    takt_session_destroy(b);
    takt_session_destroy(cpu);
    takt_model_destroy(m);
    takt_ctx_destroy(ctx);
    EXPECT(gpu_count().live_objects == 0 && gpu_count().live_bytes == 0);
}

/* What another library made current on this thread is current after every call. */
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
    EXPECT(takt_session_run(s) == TAKT_OK);
    EXPECT(gpu_current() == &other, "a run changes the current context");
    takt_session_destroy(s);
    takt_model_destroy(m);
    takt_ctx_destroy(ctx);
    EXPECT(gpu_current() == &other, "an end changes the current context");
    EXPECT(gpu_count().wrong == NULL, "%s", gpu_count().wrong);
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

TEST_MAIN(reasons, lost_in_graph, other_context, refused_code, index_faults, model_bits,
          lost_device, failing_calls, conforms)
