/* gpu_rates.c - what a device reaches, over the driver of the tests: all is measured, nothing is
 * left, and a call that fails gives no figures. */
#include <string.h>

#include <takt/takt.h>

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
               "call %llu failed, and rates were told", (unsigned long long)k);
    EXPECT(measure(&(gpu_settings){.memory = 1 << 20}, 0, rates) == 0, "of too little memory");
}

TEST_MAIN(all, failures)
