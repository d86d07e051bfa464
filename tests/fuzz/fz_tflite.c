/* fz_tflite.c - any bytes as a TensorFlow Lite model: two readings agree; a model that loads is a
 * valid graph, and is written again. */
#include "fuzz/target.h"
#include "io/read.h"
#include "io/tflite/write/write.h"
#include "util/meter.h"

/* A model that was read is written, or refused with a message; a written one can be read. */
static void write_again(takt_ctx *ctx, const takt_graph *g)
{
    takt_text bytes;
    takt_text_init(&bytes, ctx);
    const takt_status status = takt_tflite_bytes(g, &(takt_tflite_options){0}, &bytes);
    must(status != TAKT_ERR_INTERNAL && (status == TAKT_OK || takt_last_error(ctx)[0] != '\0'));
    if (status == TAKT_OK) {
        takt_graph *back = NULL;
        const takt_source source = {.ctx = ctx,
                                    .name = "written",
                                    .bytes = (const uint8_t *)takt_text_get(&bytes),
                                    .length = bytes.length};
        must(takt_reader_tflite.read(&source, &back) != TAKT_ERR_FORMAT);
        takt_graph_destroy(back);
    }
    takt_text_deinit(&bytes);
}

static takt_status read_once(takt_ctx *ctx, const uint8_t *data, size_t size, uint64_t *digest)
{
    takt_graph *g = NULL;
    const takt_source source = {.ctx = ctx,
                                .name = "fuzz",
                                .bytes = data,
                                .length = size,
                                .keep_scales = size > 0 && data[size / 2] % 2 == 1};
    const takt_status status = takt_reader_tflite.read(&source, &g);
    must((status == TAKT_OK) == (g != NULL));
    must(status != TAKT_ERR_INTERNAL && (status == TAKT_OK || takt_last_error(ctx)[0] != '\0'));
    *digest = 0;
    if (g != NULL) {
        must(takt_graph_verify(g) == TAKT_OK);
        *digest = takt_graph_digest(g);
        if (size > 0 && data[size / 3] % 4 == 0)
            write_again(ctx, g);
        takt_graph_destroy(g);
    }
    return status;
}

/* Limits are low so that no input takes longer than a millisecond or two, yet in such proportion
 * that memory is never exhausted; sweep_load.c covers that by failing every single allocation. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    meter memory = {0};
    const takt_allocator allocator = METER_ALLOCATOR(&memory);
    const takt_config config = {
        .allocator = &allocator,
        .limits = {.bytes = 1 << 28, .tensor_bytes = 1 << 18, .nodes = 2000, .trip_count = 256}};
    takt_ctx *ctx;
    uint64_t first, second;
    (void)takt_reader_tflite.recognises(data, size);
    if (takt_ctx_create(&config, &ctx) != TAKT_OK)
        return 0;
    /* One in four: a second reading costs as much as another input. */
    const bool is_twice = size > 0 && data[size / 2] % 4 == 0;
    memory.fills = is_twice; /* a second reading finds different bytes in new memory */
    memory.filling = 0xff;
    const takt_status status = read_once(ctx, data, size, &first);
    memory.filling = 0;
    if (is_twice)
        must(read_once(ctx, data, size, &second) == status && first == second);
    takt_ctx_destroy(ctx);
    must(memory.live == 0);
    return 0;
}
