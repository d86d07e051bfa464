/* gguf_write.c - GGUF files written by Takt: blocks with ggml's bits, and failures while writing.
 */
#include "io/gguf/gguf_write.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <takt/text.h>

#include "../test.h"
#include "op/util/ggml.h"
#include "util/inject.h"

enum { COUNT = 1024 };

static void pattern(float *x)
{
    for (int i = 0; i < COUNT; i++)
        x[i] = (float)(i * 7919 % 1001 - 500) / 256;
    memset(x + 64, 0, 32 * sizeof *x);
    x[96] = 3;
}

/* FNV of the bytes that PyPI's gguf 0.19 gives the pattern. */
static void known_bits(void)
{
    static const struct {
        const char *name;
        uint32_t hash;
    } rows[] = {{"bf16", 0x1fb7c36fU}, {"f16", 0x98443fb4U},  {"q8_0", 0x0fc9008dU},
                {"Q4_0", 0x6ec6c751U}, {"q4_1", 0x4074ac56U}, {"q5_0", 0x951faa51U},
                {"q5_1", 0xdbe9c54cU}};
    float x[COUNT], back[COUNT];
    uint8_t bytes[4 * COUNT];
    pattern(x);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const takt_gguf_type *type = takt_gguf_written_type(rows[i].name);
        uint32_t hash = 2166136261u;
        if (!EXPECT(type != NULL, "%s", rows[i].name))
            continue;
        takt_gguf_encode(type, x, COUNT, NULL, bytes);
        for (size_t k = 0; k < COUNT / type->elements * type->bytes; k++)
            hash = (hash ^ bytes[k]) * 16777619u;
        EXPECT(hash == rows[i].hash, "%s: 0x%08x", rows[i].name, hash);
        if (type->dtype != TAKT_DTYPE_COUNT)
            continue;
        takt_ggml_decode(takt_gguf_format(type), bytes, COUNT / type->elements, back);
        for (size_t k = 0; k < COUNT; k++)
            EXPECT(fabs((double)back[k] - (double)x[k]) <= 0.3, "%s: %g is %g", rows[i].name,
                   (double)x[k], (double)back[k]);
    }
    EXPECT(takt_gguf_written_type("q8_k") == NULL && takt_gguf_written_type("f1") == NULL);
}

/* Nothing of a block is undefined where its numbers are not finite. */
static void not_finite(void)
{
    static const char *const names[] = {"f16", "bf16", "q8_0", "q4_0", "q4_1", "q5_0", "q5_1"};
    float x[32] = {NAN, INFINITY, -INFINITY, 1, 3.4e38F, -3.4e38F};
    uint8_t bytes[64];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        takt_gguf_encode(takt_gguf_written_type(names[i]), x, 32, NULL, bytes);
}

static char written[512];

static takt_status scenario(takt_inject *inject, void *user)
{
    takt_config config = {0};
    takt_ctx *ctx;
    takt_inject_config(inject, &config);
    takt_status status = takt_ctx_create(&config, &ctx);
    if (status != TAKT_OK)
        return status;
    status = takt_text_convert(ctx, user, written, "q8_0");
    takt_ctx_destroy(ctx);
    return status;
}

static void sweep(void)
{
    char folder[] = "tests/corpus/hf_tiny", file[] = "tests/corpus/gguf/tiny.gguf";
    const char *tmp = getenv("TAKT_TEST_TMP");
    (void)snprintf(written, sizeof written, "%s/written.gguf", tmp != NULL ? tmp : "/tmp");
    takt_sweep_report r = takt_sweep(scenario, folder, TAKT_INJECT_MEMORY | TAKT_INJECT_FILES);
    EXPECT(r.is_good, "%s", r.message);
    r = takt_sweep(scenario, file, TAKT_INJECT_MEMORY | TAKT_INJECT_FILES);
    EXPECT(r.is_good, "%s", r.message);
    (void)remove(written);
}

TEST_MAIN(known_bits, not_finite, sweep)
