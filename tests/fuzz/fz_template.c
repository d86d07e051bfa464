/* fz_template.c - any bytes as a chat template: a valid one renders the same text twice, within its
 * limits, or reports why not. */
#include <takt/chat.h>

#include "fuzz/target.h"
#include "util/meter.h"

/* Steps of a template, instead of a million: a bomb took 50 ms, as long as a hundred other inputs.
 * unit_chat tests the full limit. */
enum { STEPS = 20000 };

typedef struct digest {
    uint64_t hash;
    size_t length;
} digest;

static int gather(void *user, const char *text, size_t length)
{
    digest *d = user;
    for (size_t i = 0; i < length; i++)
        d->hash = (d->hash ^ (unsigned char)text[i]) * 1099511628211u;
    d->length = length;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char variables[] =
        "{\"messages\": [{\"role\": \"system\", \"content\": \"Be kind.\"}, {\"role\": \"user\", "
        "\"content\": \"Hi \\u00e9\"}, {\"role\": \"assistant\", \"content\": null, "
        "\"tool_calls\": [{\"function\": {\"name\": \"f\", \"arguments\": {\"x\": 1.5}}}]}], "
        "\"tools\": []}";
    const takt_chat_options options = {.size = sizeof options, .seconds = 1700000000};
    meter memory = {0};
    const takt_allocator allocator = METER_ALLOCATOR(&memory);
    const takt_config config = {.allocator = &allocator,
                                .limits = {.bytes = 1 << 28, .trip_count = STEPS}};
    takt_ctx *ctx;
    takt_chat *chat;
    digest d[2] = {{0, 0}, {0, 0}};
    if (size == 0 || takt_ctx_create(&config, &ctx) != TAKT_OK)
        return 0;
    const takt_status status = takt_chat_parse(ctx, "fuzz", (const char *)data, size, &chat);
    must((status == TAKT_OK) == (chat != NULL) && status != TAKT_ERR_INTERNAL);
    must(status == TAKT_OK || takt_last_error(ctx)[0] != '\0');
    if (chat != NULL) {
        takt_status got[2];
        for (int i = 0; i < 2; i++)
            got[i] = takt_chat_render(chat, NULL, variables, &options, gather, &d[i]);
        must(got[0] == got[1] && d[0].hash == d[1].hash && d[0].length <= 1 << 21);
        must(got[0] != TAKT_ERR_INTERNAL);
    }
    takt_chat_destroy(chat);
    takt_ctx_destroy(ctx);
    must(memory.live == 0);
    return 0;
}
