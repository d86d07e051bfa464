/* fz_datalog.c - any bytes as a Datalog program, and as a file of its facts. */
#include "base/ctx.h"
#include "base/mem.h"
#include "fuzz/target.h"
#include "logic/datalog.h"
#include "util/meter.h"

typedef struct input {
    takt_ctx *ctx;
    const uint8_t *data;
    size_t size;
} input;

static takt_status facts(void *user, const char *name, void **bytes, size_t *length)
{
    const input *in = user;
    must(name != NULL);
    *length = in->size;
    TAKT_TRY(takt_mem_zero(in->ctx, in->size + 1, 1, "facts", bytes));
    for (size_t i = 0; i < in->size; i++)
        ((uint8_t *)*bytes)[i] = in->data[i];
    *length = in->size + 1;
    return TAKT_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    meter m = {0};
    const takt_allocator allocator = METER_ALLOCATOR(&m);
    const takt_config config = {.allocator = &allocator, .limits.bytes = 1 << 28};
    takt_ctx *ctx;
    takt_text out;
    if (takt_ctx_create(&config, &ctx) != TAKT_OK)
        return 0;
    input in = {ctx, data, size};
    takt_text_init(&out, ctx);
    const takt_span text = {(const char *)data, size};
    const takt_status status = takt_dlog_translate(ctx, "fuzz", text, facts, &in, &out);
    must(status != TAKT_ERR_INTERNAL && (status == TAKT_OK || takt_last_error(ctx)[0] != '\0'));
    takt_text_deinit(&out);
    takt_ctx_destroy(ctx);
    must(m.live == 0);
    return 0;
}
