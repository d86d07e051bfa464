/* fz_gguf.c - any bytes as GGUF: two readings agree, in one piece and in parts; every tensor is
 * inside the file; a model that loads is a valid graph. A second "GGUF" begins the second part of a
 * split file. */
#include <string.h>

#include "fuzz/target.h"
#include "io/gguf/gguf.h"
#include "io/read.h"
#include "util/memfs.h"
#include "util/meter.h"

static takt_status parse(takt_ctx *ctx, const uint8_t *data, size_t have, size_t size, bool *is_cut)
{
    takt_arena arena;
    takt_gguf g;
    takt_arena_init(&arena, ctx);
    const takt_status status = takt_gguf_parse(&arena, "fuzz", data, have, size, &g);
    must(status != TAKT_ERR_INTERNAL && (status == TAKT_OK || takt_last_error(ctx)[0] != '\0'));
    *is_cut = status == TAKT_OK && g.is_cut;
    for (size_t i = 0; status == TAKT_OK && !g.is_cut && i < g.tensor_count; i++) {
        const takt_gguf_tensor *t = &g.tensors[i];
        must(t->offset <= size && t->bytes <= size - t->offset);
        must(takt_gguf_tensor_find(&g, t->name) == t);
    }
    for (size_t i = 0; status == TAKT_OK && !g.is_cut && i < g.value_count; i++)
        must(takt_gguf_find(&g, g.values[i].key) == &g.values[i]);
    takt_arena_deinit(&arena);
    return status;
}

/* `size` bytes are the first part of a split file; folder NULL: there is no other part. */
static void load(takt_ctx *ctx, const char *folder, const uint8_t *data, size_t size)
{
    takt_graph *g = NULL;
    const takt_source source = {.ctx = ctx,
                                .name = "m/f-00001-of-00002.gguf",
                                .folder = folder,
                                .bytes = data,
                                .length = size};
    const takt_status status = takt_reader_gguf.read(&source, &g);
    must((status == TAKT_OK) == (g != NULL));
    must(status != TAKT_ERR_INTERNAL && (status == TAKT_OK || takt_last_error(ctx)[0] != '\0'));
    if (g != NULL)
        must(takt_graph_verify(g) == TAKT_OK);
    takt_graph_destroy(g);
}

/* The beginning of the second part; `size`: there is none. */
static size_t first_part(const uint8_t *data, size_t size)
{
    for (size_t i = 4; i + 4 <= size; i++)
        if (memcmp(data + i, "GGUF", 4) == 0)
            return i;
    return size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    meter memory = {0};
    const takt_allocator allocator = METER_ALLOCATOR(&memory);
    const size_t cut = first_part(data, size);
    takt_memfs *fs = takt_memfs_create();
    if (fs == NULL || takt_memfs_put(fs, "m/f-00002-of-00002.gguf", data + cut, size - cut) != 0)
        return takt_memfs_destroy(fs), 0;
    const takt_files files = takt_memfs_files(fs);
    const takt_config config = {
        .allocator = &allocator,
        .files = &files,
        .limits = {.bytes = 1 << 26, .tensor_bytes = 1 << 20, .nodes = 2000}};
    takt_ctx *ctx;
    bool is_cut;
    if (takt_ctx_create(&config, &ctx) != TAKT_OK)
        return takt_memfs_destroy(fs), 0;
    const takt_status status = parse(ctx, data, size, size, &is_cut);
    must(!is_cut);
    /* With only half of it, the header is refused for the same reason, or needs more. */
    const takt_status half = parse(ctx, data, size / 2, size, &is_cut);
    must(half == status || is_cut || (half == TAKT_OK && status != TAKT_OK));
    if (status == TAKT_OK)
        load(ctx, NULL, data, size);
    if (cut < size)
        load(ctx, "m", data, cut);
    takt_ctx_destroy(ctx);
    takt_memfs_destroy(fs);
    must(memory.live == 0);
    return 0;
}
