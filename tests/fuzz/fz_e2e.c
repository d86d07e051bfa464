/* fz_e2e.c - any bytes as a model of any format: if it loads, it is planned and run on both
 * backends.
 */
#include <takt/takt.h>

#include "fuzz/target.h"
#include "util/meter.h"

/* Limits for a slow machine that is also busy and runs sanitizers. Neither a step nor the filling
 * of inputs is interrupted, so their cost is bounded beforehand; the deadline is for many of
 * them. */
enum {
    TENSOR_BYTES = 1 << 16,
    MEMORY = 1 << 21,
    FLOPS = 1 << 21,
    FLOPS_REF = 1 << 17, /* of the interpreter */
    DEADLINE_NS = 200000000,
};

/* The status of a run on random inputs, and the digest of its first output. */
static takt_status run_once(takt_ctx *ctx, takt_session *s, char digest[TAKT_DIGEST_TEXT])
{
    for (size_t i = 0; i < takt_session_input_count(s); i++) {
        const takt_tensor_view *in = takt_session_input(s, i);
        if (in == NULL || takt_view_random(ctx, in, 1, (uint32_t)i) != TAKT_OK)
            return TAKT_ERR_MEMORY;
    }
    const takt_status status = takt_session_run_deadline(s, DEADLINE_NS);
    must(status != TAKT_ERR_INTERNAL);
    const takt_tensor_view *out = status == TAKT_OK ? takt_session_output(s, 0) : NULL;
    if (out != NULL)
        return takt_view_digest(ctx, out, 1, digest);
    return status;
}

static void run_model(takt_ctx *ctx, const takt_model *m, const char *backend)
{
    const takt_plan_options options = {.backend = backend, .threads = 1, .memory_limit = MEMORY};
    takt_plan *plan;
    takt_plan_info info;
    takt_session *s;
    char first[TAKT_DIGEST_TEXT] = "", second[TAKT_DIGEST_TEXT] = "";
    if (takt_plan_create(m, &options, &plan) != TAKT_OK) {
        must(takt_last_error_info(ctx)->status != TAKT_ERR_INTERNAL);
        return;
    }
    takt_plan_query(plan, &info);
    const bool is_ref = strcmp(backend, "ref") == 0;
    if (info.flops <= (is_ref ? FLOPS_REF : FLOPS) && info.peak <= MEMORY &&
        takt_session_create(plan, NULL, &s) == TAKT_OK) {
        const takt_status a = run_once(ctx, s, first);
        takt_session_reset(s);
        const takt_status b = run_once(ctx, s, second);
        must(a != TAKT_OK || b != TAKT_OK || strcmp(first, second) == 0);
        takt_session_destroy(s);
    }
    takt_plan_destroy(plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    meter memory = {0};
    const takt_allocator allocator = METER_ALLOCATOR(&memory);
    const takt_config config = {
        .allocator = &allocator,
        .limits = {.bytes = 1 << 27, .tensor_bytes = TENSOR_BYTES, .nodes = 100, .trip_count = 16}};
    takt_ctx *ctx;
    takt_model *m;
    if (size > 1 << 16 || takt_ctx_create(&config, &ctx) != TAKT_OK)
        return 0;
    if (takt_model_load_memory(ctx, "fuzz", data, size, NULL, &m) == TAKT_OK) {
        run_model(ctx, m, "ref");
        run_model(ctx, m, "cpu");
        takt_model_destroy(m);
    }
    takt_ctx_destroy(ctx);
    must(memory.live == 0);
    return 0;
}
