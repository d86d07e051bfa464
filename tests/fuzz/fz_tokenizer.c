/* fz_tokenizer.c - any bytes as a tokenizer: if it loads, it accepts any text, and its ids have
 * texts.
 */
#include <takt/tokenizer.h>

#include "fuzz/target.h"
#include "util/meter.h"

enum { IDS = 4096, TEXT = 1 << 16 };

/* The file itself is a text, too. */
static void use(takt_tokenizer *t, const char *text, size_t length, unsigned flags)
{
    static int32_t room[IDS];
    static char letters[TEXT];
    takt_token_ids ids = {room, IDS, 0};
    takt_token_text back = {letters, TEXT, 0};
    if (takt_tokenize(t, text, length, flags, &ids) != TAKT_OK)
        return;
    const size_t count = ids.count < IDS ? ids.count : IDS;
    for (size_t i = 0; i < count; i++)
        must(room[i] >= 0 && (size_t)room[i] < takt_tokenizer_count(t));
    const takt_status status = takt_detokenize(t, room, count, flags, &back);
    must(status == TAKT_OK || status == TAKT_ERR_MEMORY || status == TAKT_ERR_UNSUPPORTED);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char text[] = "Hello abc ab 12 \xC3\xA9\xE6\x88\x91 \xFF<|end|> it's\n\n";
    meter memory = {0};
    const takt_allocator allocator = METER_ALLOCATOR(&memory);
    const takt_config config = {.allocator = &allocator, .limits = {.bytes = 1 << 26}};
    takt_ctx *ctx;
    takt_tokenizer *t;
    if (takt_ctx_create(&config, &ctx) != TAKT_OK)
        return 0;
    const takt_status status = takt_tokenizer_load_memory(ctx, "fuzz", data, size, &t);
    must((status == TAKT_OK) == (t != NULL) && status != TAKT_ERR_INTERNAL);
    must(status == TAKT_OK || takt_last_error(ctx)[0] != '\0');
    if (t != NULL) {
        use(t, text, sizeof text - 1, 0);
        use(t, text, sizeof text - 1, 3);
        use(t, (const char *)data, size < 2048 ? size : 2048, 3);
    }
    takt_tokenizer_destroy(t);
    takt_ctx_destroy(ctx);
    must(memory.live == 0);
    return 0;
}
