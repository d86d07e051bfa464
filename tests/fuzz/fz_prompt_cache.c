/* fz_prompt_cache.c - any bytes as a prompt cache, with the checksum and the model's digest put in:
 * a refused one changes nothing, and an accepted one can be continued. */
#include <takt/takt.h>

#include "api/model.h"
#include "api/text/engine.h"
#include "base/crc32c.h"
#include "fuzz/target.h"

static takt_generator *generator;

static void open_once(void)
{
    static const char *const paths[] = {"tests/corpus/gguf/tiny.gguf",
                                        "../tests/corpus/gguf/tiny.gguf",
                                        "../../tests/corpus/gguf/tiny.gguf"};
    const takt_generator_options options = {.context = 16, .threads = 1};
    takt_ctx *ctx;
    must(takt_ctx_create(NULL, &ctx) == TAKT_OK);
    for (size_t i = 0; i < 3 && generator == NULL; i++)
        if (takt_generator_open(ctx, paths[i], &options, &generator) != TAKT_OK)
            generator = NULL;
    must(generator != NULL);
}

static void put(uint8_t *to, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        to[i] = (uint8_t)(value >> 8 * i);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const int32_t one = 1;
    if (generator == NULL)
        open_once();
    uint8_t *copy = malloc(size + 1);
    if (copy == NULL)
        return 0;
    if (size > 0)
        memcpy(copy, data, size);
    if (size >= 36) {
        memcpy(copy, "TAKT-KV1", 8);
        put(copy + 8, takt_model_digest(generator->engine.model), 8);
        put(copy + size - 4, takt_crc32c(0, copy, size - 4), 4);
    }
    takt_generator_reset(generator);
    const takt_status status = takt_generator_load_bytes(generator, "fuzz", copy, size);
    must(status == TAKT_OK || status == TAKT_ERR_FORMAT);
    must(status == TAKT_OK || takt_generator_position(generator) == 0);
    if (status == TAKT_OK && takt_generator_position(generator) < 16)
        must(takt_generator_read(generator, &one, 1) == TAKT_OK);
    free(copy);
    return 0;
}
