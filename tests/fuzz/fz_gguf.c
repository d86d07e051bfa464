/* fz_gguf.c - any bytes as GGUF: two readings agree, in one piece and in parts; every tensor lies
 * inside; a model that loads is a valid graph. */
#include "fuzz/target.h"
#include "io/gguf/gguf.h"
#include "io/read.h"
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

static void load(takt_ctx *ctx, const uint8_t *data, size_t size)
{
    takt_graph *g = NULL;
    const takt_source source = {.ctx = ctx, .name = "fuzz", .bytes = data, .length = size};
    const takt_status status = takt_reader_gguf.read(&source, &g);
    must((status == TAKT_OK) == (g != NULL));
    must(status != TAKT_ERR_INTERNAL && (status == TAKT_OK || takt_last_error(ctx)[0] != '\0'));
    if (g != NULL)
        must(takt_graph_verify(g) == TAKT_OK);
    takt_graph_destroy(g);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    meter memory = {0};
    const takt_allocator allocator = METER_ALLOCATOR(&memory);
    const takt_config config = {
        .allocator = &allocator,
        .limits = {.bytes = 1 << 26, .tensor_bytes = 1 << 20, .nodes = 2000}};
    takt_ctx *ctx;
    bool is_cut;
    if (takt_ctx_create(&config, &ctx) != TAKT_OK)
        return 0;
    const takt_status status = parse(ctx, data, size, size, &is_cut);
    must(!is_cut);
    /* With half of it there the header is refused for the same reason, or needs more. */
    const takt_status half = parse(ctx, data, size / 2, size, &is_cut);
    must(half == status || is_cut || (half == TAKT_OK && status != TAKT_OK));
    if (status == TAKT_OK)
        load(ctx, data, size);
    takt_ctx_destroy(ctx);
    must(memory.live == 0);
    return 0;
}
