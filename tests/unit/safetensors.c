/* safetensors.c - weights by name: refusals, and that writing and reading agree. */
#include "io/safetensors/safetensors.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>

#include <takt/weights.h>

#include "../test.h"
#include "base/mem.h"

static takt_ctx *ctx;

static takt_status read_text(const char *header, size_t data, takt_weight_list *list,
                             takt_arena *arena)
{
    static uint8_t bytes[4096];
    const uint64_t size = strlen(header);
    memset(bytes, 0, sizeof bytes);
    memcpy(bytes, &size, sizeof size);
    memcpy(bytes + 8, header, size);
    return takt_safetensors_read(arena, "f", bytes, 8 + size + data, list);
}

static void expect(const char *header, size_t data, const char *words)
{
    takt_arena arena;
    takt_weight_list list;
    takt_arena_init(&arena, ctx);
    const takt_status status = read_text(header, data, &list, &arena);
    if (words == NULL)
        EXPECT(status == TAKT_OK, "%s: %s", header, takt_last_error(ctx));
    else
        EXPECT(status != TAKT_OK && strstr(takt_last_error(ctx), words) != NULL, "%s: %s", header,
               status == TAKT_OK ? "was read" : takt_last_error(ctx));
    takt_arena_deinit(&arena);
}

#define ONE(dtype, shape, at)                                                                      \
    "{\"a\":{\"dtype\":" dtype ",\"shape\":" shape ",\"data_offsets\":" at "}}"

static void headers(void)
{
    expect("{}", 0, NULL);
    expect("{}  ", 0, NULL);
    expect("{}", 1, "after the last tensor");
    EXPECT_EQ(takt_last_error_info(ctx)->id, TAKT_E_SAFETENSORS);
    expect(" {}", 0, "begin with {");
    expect("[]", 0, "begin with {");
    expect("{\"a\":1}", 0, "not an object");
    expect(ONE("\"F32\"", "[2]", "[0,8]"), 8, NULL);
    expect(ONE("\"F32\"", "[]", "[0,4]"), 4, NULL);
    expect(ONE("\"F32\"", "[0,7]", "[0,0]"), 0, NULL);
    expect(ONE("\"f32\"", "[2]", "[0,8]"), 8, "unknown");
    expect(ONE("\"F99\"", "[2]", "[0,8]"), 8, "unknown");
    expect(ONE("3", "[2]", "[0,8]"), 8, "no text");
    expect(ONE("\"F32\"", "[-2]", "[0,8]"), 8, "whole number");
    expect(ONE("\"F32\"", "[2.0]", "[0,8]"), 8, "whole number");
    expect(ONE("\"F32\"", "[\"2\"]", "[0,8]"), 8, "whole number");
    expect(ONE("\"F32\"", "[null]", "[0,8]"), 8, "whole number");
    expect(ONE("\"F32\"", "[18446744073709551616]", "[0,8]"), 8, "whole number");
    expect(ONE("\"F32\"", "[4611686018427387904,4,0]", "[0,0]"), 0, "too large");
    expect(ONE("\"F32\"", "[2]", "[8,0]"), 8, "backwards");
    expect(ONE("\"F32\"", "[2]", "[0,4]"), 4, "do not fit");
    expect(ONE("\"F32\"", "[2]", "[0,8]"), 4, "beyond the file");
    expect(ONE("\"F32\"", "[2]", "[4,12]"), 12, "hole");
    expect(ONE("\"F4\"", "[3]", "[0,2]"), 2, "whole bytes");
    expect("{\"a\":{\"dtype\":\"F32\",\"shape\":[2]}}", 8, "other keys");
    expect("{\"__metadata__\":{\"a\":1}}", 0, "not text");
    expect("{\"__metadata__\":{\"a\":\"b\"}}", 0, NULL);
    expect("{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
           "\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[1,3]}}",
           3, "overlap");
    expect("{\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]},"
           "\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}",
           0, "a");
}

static void sizes(void)
{
    static const uint64_t wrong[] = {0, 1, 3, UINT64_C(1) << 63, UINT64_MAX, 200000000};
    takt_weight_list list;
    takt_arena arena;
    takt_arena_init(&arena, ctx);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        uint8_t bytes[10] = {0};
        memcpy(bytes, &wrong[i], 8);
        memcpy(bytes + 8, "{}", 2);
        EXPECT_STATUS(NULL, takt_safetensors_read(&arena, "f", bytes, 10, &list), TAKT_ERR_FORMAT);
        EXPECT_STATUS(NULL, takt_safetensors_read(&arena, "f", bytes, i, &list), TAKT_ERR_FORMAT);
    }
    takt_arena_deinit(&arena);
}

static const char *path_of(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s",
             getenv("TAKT_TEST_TMP") != NULL ? getenv("TAKT_TEST_TMP") : "/tmp", name);
    return path;
}

static void models(void)
{
    static const char text[] = "model m(x: f32[2]) -> (y: f32[2]) {\n"
                               "  param w: f32[2] = uniform(-1, 1, stream=1)\n"
                               "  return y = mul(x, w)\n}\n";
    static const char other[] = "model m(x: f32[3]) -> (y: f32[3]) {\n"
                                "  param w: f32[3] = uniform(-1, 1, stream=1)\n"
                                "  return y = mul(x, w)\n}\n";
    takt_model *m, *n;
    const char *path = path_of("w.safetensors");
    if (!EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", text, sizeof text - 1, NULL, &m)))
        return;
    EXPECT_OK(ctx, takt_model_save_weights(m, path, NULL));
    EXPECT_OK(ctx, takt_model_load_weights(m, path));
    if (EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", other, sizeof other - 1, NULL, &n))) {
        EXPECT_STATUS(ctx, takt_model_load_weights(n, path), TAKT_ERR_NOT_FOUND);
        EXPECT_EQ(takt_last_error_info(ctx)->id, TAKT_E_WEIGHTS);
        takt_model_destroy(n);
    }
    takt_model_destroy(m);
}

int main(void)
{
    if (takt_ctx_create(NULL, &ctx) != TAKT_OK)
        return 1;
    headers();
    sizes();
    models();
    takt_ctx_destroy(ctx);
    return test_done();
}
