/* gpu_rates.c - rates of a device, with the tests' driver: all are measured, nothing leaks, and a
 * failing call gives no figures. */
#include <string.h>

#include <takt/takt.h>

#include "api/backends.h"
#include "measure/session/measure.h"
#include "test.h"
#include "util/gpu.h"

static size_t measure(const gpu_settings *set, uint64_t fail, takt_device_rate *rates)
{
    const takt_backend *backend = gpu_backend();
    takt_ctx *ctx;
    void *state = NULL;
    size_t count = 0;
    gpu_driver(set);
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    if (EXPECT_OK(ctx, backend->open(ctx, NULL, 1, &state))) {
        if (fail > 0)
            gpu_fail(fail, TAKT_CU_OUT_OF_MEMORY, false);
        count = backend->rates(state, rates);
        gpu_fail(0, 0, false);
        backend->close(ctx, state);
    }
    takt_ctx_destroy(ctx);
    const gpu_counts n = gpu_count();
    EXPECT(n.wrong == NULL, "%s", n.wrong);
    EXPECT(n.live_objects == 0 && n.live_bytes == 0 && n.pinned_bytes == 0,
           "call %llu fails: %d objects, %zu bytes, %zu pinned are left", (unsigned long long)fail,
           n.live_objects, n.live_bytes, n.pinned_bytes);
    return count;
}

static void all(void)
{
    takt_device_rate rates[TAKT_DEVICE_RATES];
    const size_t count = measure(&(gpu_settings){.memory = (size_t)2 << 30}, 0, rates);
    EXPECT(count == 8, "%zu rates", count);
    for (size_t i = 0; i + 1 < count; i++)
        EXPECT(rates[i].value > 0 && rates[i].name != NULL && rates[i].key != NULL, "%s: %g",
               rates[i].name, rates[i].value);
}

static void failures(void)
{
    takt_device_rate rates[TAKT_DEVICE_RATES];
    for (uint64_t k = 1; k < 100; k += 1 + k / 2)
        EXPECT(measure(&(gpu_settings){.memory = (size_t)2 << 30}, k, rates) == 0,
               "call %llu failed, and rates were reported", (unsigned long long)k);
    EXPECT(measure(&(gpu_settings){.memory = 1 << 20}, 0, rates) == 0, "of too little memory");
}

/* Steps of a device are compared with its ceilings, and copies with those of the bus. */
static void profiled(void)
{
    const char *source = "model m(x: f32[4, 64]) -> (y: f32[4, 64]) seed=1 {\n"
                         "  return y = x |> dense(64) |> relu()\n}\n";
    const takt_plan_options how = {.backend = "gpu", .threads = 1};
    takt_ceilings c = {.cache_bytes = {65536, 1 << 20, 1 << 25, 1 << 30}};
    const takt_profile_options o = {.runs = 2, .max_ns = 200000000, .ceilings = &c};
    takt_ctx *ctx;
    takt_model *m = NULL;
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    takt_profile *p = NULL;
    size_t away = 0, copies = 0;
    float data[2][4 * 64] = {{0}};
    const takt_tensor_view x = {.data = data[0], .dtype = TAKT_F32, .rank = 2, .dims = {4, 64}};
    takt_tensor_view y = x;
    y.data = data[1];
    c.one = c.all = (takt_ceiling){.threads = 1, .f32_gflops = 80, .f64_gflops = 40};
    gpu_driver(&(gpu_settings){0});
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    EXPECT_OK(ctx, takt_backend_add(ctx, gpu_backend()));
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", source, strlen(source), NULL, &m));
    EXPECT_OK(ctx, takt_plan_create(m, &how, &plan));
    EXPECT_OK(ctx, takt_session_create(plan, NULL, &s));
    EXPECT_OK(NULL, takt_session_bind(s, "x", &x));
    EXPECT_OK(NULL, takt_session_bind(s, "y", &y));
    if (EXPECT_OK(ctx, takt_profile_create(s, &o, &p))) {
        for (size_t i = 0; i < p->plan->step_count; i++) {
            const takt_profile_row *row = &p->rows[i];
            const bool is_copy = row->step->transfer.way != TAKT_COPY_NONE;
            if (!takt_roof_is_away(row->step))
                continue;
            away += !is_copy;
            copies += is_copy;
            EXPECT(row->roof.floor_ns > 0 && row->roof.launch_ns > 0, "%s: %g", row->step->name,
                   row->roof.floor_ns);
            EXPECT(strcmp(row->roof.away, is_copy ? "PCIe" : "L2") == 0, "%s: %s", row->step->name,
                   row->roof.away);
            EXPECT(row->roof.gflops != 80, "%s is held to the host's ceiling", row->step->name);
        }
        EXPECT(away > 0 && copies == 2, "%zu steps, %zu copies", away, copies);
    }
    takt_profile_destroy(p);
    takt_session_destroy(s);
    takt_plan_destroy(plan);
    takt_model_destroy(m);
    takt_ctx_destroy(ctx);
    EXPECT(gpu_count().wrong == NULL, "%s", gpu_count().wrong);
}

TEST_MAIN(all, failures, profiled)
