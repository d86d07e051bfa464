/* fz_grammar.c - any bytes as a grammar and as a schema: a valid one accepts or refuses texts, with
 * the same result at once and byte by byte. */
#include <takt/grammar.h>

#include "fuzz/target.h"
#include "util/meter.h"

static void follow(const takt_grammar *g, const char *text, size_t length)
{
    takt_matcher *m;
    size_t taken = 0;
    if (takt_matcher_create(g, NULL, &m) != TAKT_OK)
        return;
    while (taken < length && takt_matcher_accept_bytes(m, text + taken, 1) == TAKT_OK)
        taken++;
    const bool ends = takt_matcher_can_end(m);
    takt_matcher_reset(m);
    if (takt_matcher_accept_bytes(m, text, taken) == TAKT_OK)
        must(takt_matcher_can_end(m) == ends);
    takt_matcher_destroy(m);
}

static void use(takt_status status, takt_grammar *g, const uint8_t *data, size_t size)
{
    static const char *const texts[] = {"{\"a\": [1, -2.5e3, \"x\\n\", null], \"b\": true}", "aab",
                                        "\xC3\xA9\xF0\x9F\x9A\x80", ""};
    must((status == TAKT_OK) == (g != NULL) && status != TAKT_ERR_INTERNAL);
    for (size_t i = 0; g != NULL && i < sizeof texts / sizeof *texts; i++)
        follow(g, texts[i], strlen(texts[i]));
    if (g != NULL)
        follow(g, (const char *)data, size < 64 ? size : 64);
    takt_grammar_destroy(g);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    meter memory = {0};
    const takt_allocator allocator = METER_ALLOCATOR(&memory);
    const takt_config config = {.allocator = &allocator, .limits = {.bytes = 1 << 26}};
    takt_ctx *ctx;
    takt_grammar *g;
    if (size == 0 || takt_ctx_create(&config, &ctx) != TAKT_OK)
        return 0;
    takt_status status = takt_grammar_parse(ctx, (const char *)data, size, &g);
    use(status, g, data, size);
    status = takt_grammar_of_schema(ctx, (const char *)data, size, &g);
    use(status, g, data, size);
    takt_ctx_destroy(ctx);
    must(memory.live == 0);
    return 0;
}
