/* fz_folder.c - any bytes as a folder of Hugging Face: config.json up to the first NUL, then
 * model.safetensors. Two readings agree, a model that loads is a valid graph, nothing leaks. */
#include <string.h>

#include "fuzz/target.h"
#include "io/read.h"
#include "util/memfs.h"
#include "util/meter.h"

static takt_status load(takt_ctx *ctx, const uint8_t *config, size_t length)
{
    takt_graph *g = NULL;
    const takt_source source = {
        .ctx = ctx, .name = "m/config.json", .folder = "m", .bytes = config, .length = length};
    const takt_status status = takt_reader_hf.read(&source, &g);
    must((status == TAKT_OK) == (g != NULL));
    must(status != TAKT_ERR_INTERNAL && (status == TAKT_OK || takt_last_error(ctx)[0] != '\0'));
    if (g != NULL)
        must(takt_graph_verify(g) == TAKT_OK);
    takt_graph_destroy(g);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    meter memory = {0};
    const takt_allocator allocator = METER_ALLOCATOR(&memory);
    const uint8_t *end = size > 0 ? memchr(data, 0, size) : NULL;
    takt_memfs *fs = takt_memfs_create();
    takt_ctx *ctx;
    if (end == NULL || fs == NULL)
        return takt_memfs_destroy(fs), 0;
    const size_t length = (size_t)(end - data);
    if (takt_memfs_put(fs, "m/model.safetensors", end + 1, size - length - 1) != 0)
        return takt_memfs_destroy(fs), 0;
    const takt_files files = takt_memfs_files(fs);
    const takt_config config = {
        .allocator = &allocator,
        .files = &files,
        .limits = {.bytes = 1 << 26, .tensor_bytes = 1 << 20, .nodes = 2000}};
    if (takt_ctx_create(&config, &ctx) == TAKT_OK) {
        const takt_status status = load(ctx, data, length);
        must(load(ctx, data, length) == status);
        takt_ctx_destroy(ctx);
    }
    takt_memfs_destroy(fs);
    must(memory.live == 0);
    return 0;
}
