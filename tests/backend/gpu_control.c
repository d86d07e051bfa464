/* gpu_control.c - If, Loop and Scan on the cuda backend, with the tests' driver: bodies run
 * on the device with the cpu's bits, and fail as they do on the cpu. */
#include <stdio.h>
#include <string.h>

#include <takt/takt.h>

#include "api/backends.h"
#include "backend/gpu_bytes.h"
#include "test.h"
#include "util/gpu.h"
#include "util/inject.h"

typedef struct control {
    const char *name, *text;
} control;

#define RELU_OR_NEG                                                                                \
    "then=graph(a: f32[4, 70], b: f32[70]) { return relu(a) + b, reduce_sum(a) }, "                \
    "else=graph(a: f32[4, 70], b: f32[70]) { return neg(a), reduce_max(b) })\n"

static const control rows[] = {
    {"if",
     "model m(x: f32[4, 70], w: f32[70], c: f32[]) -> (y: f32[4, 70], z: f32[]) {\n"
     "  h = tanh(x) + w\n  a, b = if(c > 0, h, w, " RELU_OR_NEG "  return y = a * 2, z = b\n}\n"},
    {"loop that ends by itself",
     "model m(x: f32[5, 40], w: f32[40, 40], c: f32[]) -> (y: f32[5, 40], z: f32[9, 5]) {\n"
     "  a, b = loop(constant(i64[], [7]), c < 100, x, w, carried=1, length=[9], body=graph(i: "
     "i64[], c: bool[], h: f32[5, 40], w: f32[40, 40]) {\n"
     "    g = tanh(h @ w) + cast(i, dtype=f32)\n"
     "    return reduce_max(g) < 5.5, g, reduce_sum(g, axes=[1]) })\n"
     "  return y = a - x, z = b\n}\n"},
    {"loop without iterations",
     "model m(x: f32[5], n: i64[], c: f32[]) -> (y: f32[5], z: u8[3, 5]) {\n"
     "  a, b = loop(n * 0, c < 100, x, carried=1, length=[3], body=graph(i: i64[], c: bool[], h: "
     "f32[5]) {\n    return c, exp(h), cast(h, dtype=u8) })\n  return y = a, z = b\n}\n"},
    {"scan in reverse",
     "model m(h: f32[3, 8], x: f32[6, 3, 8], w: f32[8], c: f32[]) -> (y: f32[3, 8], z: f32[6, 3, "
     "8]) {\n"
     "  a, b = scan(h, x, w, carried=1, reverse=true, body=graph(h: f32[3, 8], x: f32[3, 8], w: "
     "f32[8]) {\n    g = softmax(h * w + x, axis=1)\n    return g, g - h })\n"
     "  return y = a + c, z = b\n}\n"},
    {"scan along other axes",
     "model m(h: f32[3, 8], x: f32[3, 6, 8], y: f32[6, 8], c: f32[]) -> (y: f32[3, 8], z: "
     "f32[3, 8, "
     "6]) {\n"
     "  a, b = scan(h, x, y, carried=1, sequences=2, axes=[1, 0], out_axes=[-1], "
     "body=graph(h: f32[3, 8], x: f32[3, 8], y: f32[8]) {\n"
     "    g = tanh(h * 0.5 + x) + y\n    return g, g - h })\n"
     "  return y = a + c, z = b\n}\n"},
    {"one in another",
     "model m(h: f32[3], x: f32[4, 3], c: f32[]) -> (y: f32[3], z: f32[4, 3]) {\n"
     "  a, b = scan(h, x, c, carried=1, body=graph(h: f32[3], x: f32[3], c: f32[]) {\n"
     "    g = if(reduce_sum(h) < c * 3, h, x, then=graph(h: f32[3], x: f32[3]) { return h + exp(x) "
     "}, else=graph(h: f32[3], x: f32[3]) { return x * 0.5 })\n    return g, sin(g) })\n"
     "  return y = a, z = b\n}\n"},
    {
        "a body that is partly on the host",
        "model m(h: f32[6, 6], x: f32[3, 6, 6], c: f32[]) -> (y: f32[6, 6], z: f32[3, 6, 6]) {\n"
        "  a, b = scan(h + c, x, carried=1, body=graph(h: f32[6, 6], x: f32[6, 6]) {\n"
        "    g = semiring_matmul_grad(h, exp(x), x, semiring=max_min)\n    return g, tanh(g + "
        "h) })\n"
        "  return y = a * 2, z = b\n}\n",
    },
};

typedef struct outcome {
    char digest[2][TAKT_DIGEST_TEXT];
    takt_status status;
    char message[sizeof((takt_error *)NULL)->message];
    size_t bodies; /* steps with subgraphs that are on the device */
} outcome;

static void read_outcome(takt_ctx *ctx, const takt_plan *plan, takt_session *s, outcome *r)
{
    snprintf(r->message, sizeof r->message, "%s", takt_session_error(s)->message);
    for (size_t i = 0; r->status == TAKT_OK && i < takt_session_output_count(s); i++)
        EXPECT_OK(ctx, takt_view_digest(ctx, takt_session_output(s, i), 1, r->digest[i]));
    for (size_t i = 0; i < plan->step_count; i++) {
        const takt_step *step = &plan->steps[i];
        r->bodies += strcmp(step->kind, "body") == 0;
        EXPECT(strcmp(step->kind, "body") != 0 || strstr(step->note, "the host") != NULL,
               "nothing is said of %s", step->name);
    }
}

/* `takt plan` reports memory before it is allocated. */
static void expect_stated(const takt_plan *plan)
{
    const takt_session_memory m = takt_session_memory_of(plan, 1);
    EXPECT(m.pinned == gpu_count().pinned_bytes && m.bodies > 0,
           "%llu bytes pinned, the plan has %llu, and %llu of bodies",
           (unsigned long long)gpu_count().pinned_bytes, (unsigned long long)m.pinned,
           (unsigned long long)m.bodies);
    expect_device_bytes("a body", plan);
}

/* Two runs, the second with scalars of the other sign. */
static bool run_on(takt_ctx *ctx, const char *text, const char *backend, outcome r[2])
{
    takt_model *model = NULL;
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    const takt_plan_options options = {.backend = backend, .threads = 1};
    bool ok = EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", text, strlen(text), NULL, &model)) &&
              EXPECT_OK(ctx, takt_plan_create(model, &options, &plan)) &&
              EXPECT_OK(ctx, takt_session_create(plan, NULL, &s));
    if (ok && strcmp(backend, "gpu") == 0)
        expect_stated(plan);
    for (size_t k = 0; ok && k < 2; k++) {
        for (size_t i = 0; i < takt_session_input_count(s); i++) {
            const takt_tensor_view *v = takt_session_input(s, i);
            EXPECT_OK(ctx, takt_view_random(ctx, takt_session_input(s, i), 5, (uint32_t)i));
            if (v->rank == 0 && v->dtype == TAKT_F32)
                *(float *)v->data = k == 0 ? 1.0f : -1.0f;
        }
        r[k] = (outcome){.status = takt_session_run(s)};
        read_outcome(ctx, plan, s, &r[k]);
    }
    takt_session_destroy(s);
    takt_plan_destroy(plan);
    takt_model_destroy(model);
    return ok;
}

static void expect_clean(const char *name)
{
    const gpu_counts n = gpu_count();
    EXPECT(n.wrong == NULL, "%s: %s", name, n.wrong);
    EXPECT(n.live_objects == 0 && n.live_bytes == 0 && n.pinned_bytes == 0,
           "%s: %d objects, %zu bytes, %zu pinned are left", name, n.live_objects, n.live_bytes,
           n.pinned_bytes);
}

static void compare(const control *row, const gpu_settings *settings)
{
    takt_ctx *ctx;
    outcome want[2], got[2];
    gpu_driver(settings);
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    EXPECT_OK(ctx, takt_backend_add(ctx, gpu_backend()));
    if (run_on(ctx, row->text, "cpu", want) && run_on(ctx, row->text, "gpu", got))
        for (int k = 0; k < 2; k++) {
            EXPECT(got[k].bodies == 1, "%s: %zu bodies are on the device", row->name,
                   got[k].bodies);
            EXPECT(got[k].status == want[k].status, "%s: %s", row->name, got[k].message);
            EXPECT(strcmp(got[k].message, want[k].message) == 0, "%s: \"%s\", not \"%s\"",
                   row->name, got[k].message, want[k].message);
            EXPECT(memcmp(got[k].digest, want[k].digest, sizeof got[k].digest) == 0,
                   "%s: run %d has other bits", row->name, k);
        }
    takt_ctx_destroy(ctx);
    expect_clean(row->name);
}

static void same_bits(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int order = 0; order < GRID_ORDERS; order++)
            compare(&rows[i],
                    &(gpu_settings){.order = (grid_order)order, .is_late = order == GRID_SHUFFLED});
}

/* An index out of range in a body, and more iterations than results have room for. */
static void same_failures(void)
{
    static const control bad[] = {
        {"index", "model m(x: f32[4, 3], c: f32[]) -> (y: f32[3]) {\n"
                  "  i = cast(c * 2, dtype=i64)\n"
                  "  return y = tanh(if(c > 0, x, i, then=graph(x: f32[4, 3], i: i64[]) { return "
                  "gather(x, i) }, else=graph(x: f32[4, 3], i: i64[]) { return gather(x, i * 9) "
                  "}))\n}\n"},
        {"iterations", "model m(x: f32[3], c: f32[]) -> (y: f32[3], z: f32[2, 3]) {\n"
                       "  a, b = loop(constant(i64[], [5]), c > 0, x, carried=1, length=[2], "
                       "body=graph(i: i64[], c: bool[], h: f32[3]) { return c, exp(h), h * 2 })\n"
                       "  return y = a, z = b\n}\n"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        compare(&bad[i], &(gpu_settings){0});
}

/* Every call of the driver fails once: an error, nothing left behind. */
static void failing_calls(void)
{
    size_t failed = 0;
    bool is_over = false;
    for (uint64_t k = 1; !is_over; k += k < 60 ? 1 : 7) {
        takt_ctx *ctx;
        takt_model *model = NULL;
        takt_plan *plan = NULL;
        takt_session *s = NULL;
        const char *text = rows[1].text;
        const takt_plan_options options = {.backend = "gpu", .threads = 1};
        gpu_driver(&(gpu_settings){.fail_call = k, .fail_result = 999});
        EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
        EXPECT_OK(ctx, takt_backend_add(ctx, gpu_backend()));
        EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", text, strlen(text), NULL, &model));
        takt_status status = takt_plan_create(model, &options, &plan);
        if (status == TAKT_OK)
            status = takt_session_create(plan, NULL, &s);
        if (status == TAKT_OK)
            status = takt_session_run(s);
        failed += status != TAKT_OK;
        is_over = gpu_count().calls < k;
        takt_session_destroy(s);
        takt_plan_destroy(plan);
        takt_model_destroy(model);
        takt_ctx_destroy(ctx);
        expect_clean("failing calls");
    }
    EXPECT(failed > 20, "%zu calls failed", failed);
}

/* So does every request for memory. */
static takt_status scenario(takt_inject *inject, void *user)
{
    const char *text = user;
    takt_config config = {0};
    takt_ctx *ctx = NULL;
    takt_model *model = NULL;
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    const takt_plan_options options = {.backend = "gpu", .threads = 1};
    gpu_driver(&(gpu_settings){0});
    takt_inject_config(inject, &config);
    takt_status status = takt_ctx_create(&config, &ctx);
    if (status == TAKT_OK)
        status = takt_backend_add(ctx, gpu_backend());
    if (status == TAKT_OK)
        status = takt_model_load_memory(ctx, "m", text, strlen(text), NULL, &model);
    if (status == TAKT_OK)
        status = takt_plan_create(model, &options, &plan);
    if (status == TAKT_OK)
        status = takt_session_create(plan, NULL, &s);
    for (size_t i = 0; status == TAKT_OK && i < takt_session_input_count(s); i++) {
        const takt_tensor_view *v = takt_session_input(s, i);
        status = v != NULL && v->data != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
        if (status == TAKT_OK)
            memset(v->data, 0, sizeof(float));
    }
    if (status == TAKT_OK)
        status = takt_session_run(s);
    takt_session_destroy(s);
    takt_plan_destroy(plan);
    takt_model_destroy(model);
    takt_ctx_destroy(ctx);
    expect_clean("a lack of memory");
    return status;
}

static void failing_memory(void)
{
    char text[] = "model m(h: f32[2], x: f32[2, 2]) -> (y: f32[2], z: f32[2, 2]) {\n"
                  "  a, b = scan(h, x, carried=1, body=graph(h: f32[2], x: f32[2]) { return tanh(h "
                  "+ x), exp(h) })\n  return y = a, z = b\n}\n";
    const takt_sweep_report r = takt_sweep(scenario, text, TAKT_INJECT_MEMORY);
    EXPECT(r.is_good, "%s", r.message);
}

/* A requirement looks into bodies, and names every step that does not meet it. */
static void required(void)
{
    const char *text = "model m(x: f32[4, 70], w: f32[70], c: f32[]) -> (y: f32[4, 70], z: f32[]) "
                       "{\n  h = tanh(x) + w\n  a, b = if(c > 0, h, w, " RELU_OR_NEG
                       "  return y = a * 2, z = b\n}\n";
    const takt_plan_options o = {.backend = "gpu", .threads = 1, .require = "cpu"};
    takt_ctx *ctx;
    takt_model *m = NULL;
    takt_plan *plan = NULL;
    gpu_driver(&(gpu_settings){0});
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    EXPECT_OK(ctx, takt_backend_add(ctx, gpu_backend()));
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", text, strlen(text), NULL, &m));
    EXPECT(takt_plan_create(m, &o, &plan) != TAKT_OK && plan == NULL);
    const char *says = takt_last_error(ctx);
    EXPECT(strstr(says, "cpu is required, but step ") != NULL, "%s", says);
    EXPECT(strstr(says, "; step ") != NULL, "only one step is named: %s", says);
    EXPECT(strstr(says, "in a body step ") != NULL, "no step of a body is named: %s", says);
    takt_model_destroy(m);
    takt_ctx_destroy(ctx);
    expect_clean("required");
}

TEST_MAIN(same_bits, same_failures, failing_calls, failing_memory, required)
