/* fz_onnx.c - any bytes as an ONNX model: two readings agree; a model that loads is a valid graph.
 */
#include "fuzz/target.h"
#include "io/read.h"
#include "util/memfs.h"
#include "util/meter.h"

static takt_status read_once(takt_ctx *ctx, const uint8_t *data, size_t size, uint64_t *digest)
{
    takt_graph *g = NULL;
    const takt_source source = {
        .ctx = ctx, .name = "fuzz", .folder = "m", .bytes = data, .length = size};
    const takt_status status = takt_reader_onnx.read(&source, &g);
    must((status == TAKT_OK) == (g != NULL));
    must(status != TAKT_ERR_INTERNAL && (status == TAKT_OK || takt_last_error(ctx)[0] != '\0'));
    *digest = 0;
    if (g != NULL) {
        must(takt_graph_verify(g) == TAKT_OK);
        *digest = takt_graph_digest(g);
        takt_graph_destroy(g);
    }
    return status;
}

/* Limits are low so that no input takes longer than a millisecond or two, yet in such proportion
 * that memory is never exhausted; sweep_load.c covers that by failing every single allocation. */
/* The files that external data may lie in; made once, never written to. */
static takt_files outside(void)
{
    static takt_memfs *fs;
    static const uint8_t data[64] = {1, 2, 3};
    if (fs == NULL) {
        fs = takt_memfs_create();
        must(fs != NULL && takt_memfs_put(fs, "m/data.bin", data, sizeof data) == 0 &&
             takt_memfs_put(fs, "m/sub/data.bin", data, sizeof data) == 0);
    }
    return takt_memfs_files(fs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const takt_files files = outside();
    meter memory = {0};
    const takt_allocator allocator = METER_ALLOCATOR(&memory);
    const takt_config config = {
        .allocator = &allocator,
        .files = &files,
        .limits = {.bytes = 1 << 28, .tensor_bytes = 1 << 18, .nodes = 200, .trip_count = 32}};
    takt_ctx *ctx;
    uint64_t first, second;
    (void)takt_reader_onnx.recognises(data, size);
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
