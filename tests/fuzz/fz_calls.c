/* fz_calls.c - any bytes as a model's output, in every format: calls are objects with names, the
 * content is the beginning of the text, and the part that may be shown early is a prefix of it. */
#include "base/ctx.h"
#include "fuzz/target.h"
#include "text/calls.h"
#include "util/meter.h"

static void check(takt_ctx *ctx, takt_call_format format, takt_span text)
{
    takt_arena arena;
    takt_calls calls;
    takt_arena_init(&arena, ctx);
    const takt_status status = takt_calls_read(ctx, &arena, format, text, &calls);
    must(status == TAKT_OK || status == TAKT_ERR_MEMORY);
    must(calls.content.at == text.at && calls.content.length <= text.length);
    must(calls.count > 0 || calls.content.length == text.length);
    for (size_t i = 0; i < calls.count; i++)
        must(calls.at[i].name.length > 0 && calls.at[i].arguments->kind == TAKT_JSON_OBJECT);
    for (size_t i = 0, safe = 0; i <= text.length && i < 200; i++) {
        const size_t now = takt_calls_safe(format, (takt_span){text.at, i});
        must(now <= i && now >= safe && now <= calls.content.length);
        safe = now;
    }
    takt_arena_deinit(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    meter memory = {0};
    const takt_allocator allocator = METER_ALLOCATOR(&memory);
    const takt_config config = {.allocator = &allocator, .limits = {.bytes = 1 << 28}};
    takt_ctx *ctx;
    if (takt_ctx_create(&config, &ctx) != TAKT_OK)
        return 0;
    const takt_span text = {(const char *)data, size};
    (void)takt_calls_of(text);
    for (int i = TAKT_CALLS_NONE; i <= TAKT_CALLS_BARE; i++)
        check(ctx, (takt_call_format)i, text);
    takt_ctx_destroy(ctx);
    must(memory.live == 0);
    return 0;
}
