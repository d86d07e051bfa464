/* kv.c - the pool of keys and values: its division into blocks, and its life. */
#include "api/text/kv.h"

#include "base/count.h"
#include "base/mem.h"
#include "base/size.h"
#include "ir/graph.h"
#include "ir/tensor.h"
#include "os/memory.h"
#include "os/os.h"

/* A block of fewer tokens saves little. */
enum { TOKENS = 32 };

/* ---- division ---- */

static bool is_count(const takt_type *t, size_t rows)
{
    int64_t elements = 1;
    for (int i = 0; i < t->rank; i++)
        elements *= t->dim[i];
    return t->dtype == TAKT_I64 && elements == (int64_t)rows;
}

/* [rows, ..., context, size]: the tokens of a text follow each other. */
static bool is_cache(const takt_type *t, size_t rows)
{
    int64_t before = 1;
    for (int i = 0; i + 2 < t->rank; i++)
        before *= t->dim[i];
    return t->rank >= 3 && before == (int64_t)rows && t->dim[t->rank - 2] > 0;
}

static size_t token_bytes(const takt_type *t, size_t rows, int64_t context)
{
    size_t bytes;
    return takt_type_bytes(t, &bytes) ? bytes / rows / (size_t)context : 0;
}

/* The least number of tokens of which a cache has whole pages. */
static size_t least_tokens(size_t bytes)
{
    size_t tokens = takt_page_size();
    while (bytes % 2 == 0 && tokens > 1) {
        bytes /= 2;
        tokens /= 2;
    }
    return tokens;
}

static takt_status look(takt_ctx *ctx, const takt_graph *g, size_t rows, takt_kv_layout *l,
                        size_t *least)
{
    size_t counts = 0;
    *l = (takt_kv_layout){0};
    *least = 1;
    for (size_t i = 0; i < g->slot_count; i++) {
        const takt_type *t = &g->slots[i].type;
        const bool is_first = l->caches == 0;
        if (is_count(t, rows)) {
            counts++;
        } else if (is_cache(t, rows) && (is_first || t->dim[t->rank - 2] == l->context)) {
            l->context = t->dim[t->rank - 2];
            const size_t bytes = token_bytes(t, rows, l->context), tokens = least_tokens(bytes);
            l->block_bytes += bytes; /* of one token, so far */
            l->caches++;
            *least = tokens > *least ? tokens : *least;
        } else {
            counts = 2;
        }
    }
    return counts == 1 && l->block_bytes > 0
               ? TAKT_OK
               : takt_fail(ctx, TAKT_E_OPTION,
                           "the model's state is not a cache of tokens: it cannot come from a "
                           "pool");
}

/* Mappings of a single text, whatever blocks it gets, and of all rows. */
static size_t mappings(const takt_kv_layout *l, size_t tokens, size_t rows)
{
    return ((size_t)l->context / tokens + rows * TAKT_KV_OF_ROW) * l->caches;
}

static bool is_good(const takt_kv_layout *l, size_t tokens, size_t rows)
{
    return (size_t)l->context % tokens == 0 && tokens >= TOKENS &&
           mappings(l, tokens, rows) <= TAKT_KV_MAPPINGS;
}

takt_status takt_kv_divide(takt_ctx *ctx, const takt_graph *graph, size_t rows, uint64_t bytes,
                           takt_kv_layout *l)
{
    size_t least;
    TAKT_TRY(look(ctx, graph, rows, l, &least));
    const size_t context = (size_t)l->context;
    if (context % least != 0) {
        (void)takt_fail(ctx, TAKT_E_OPTION,
                        "a context of %zu tokens is not a whole number of pages of %zu tokens",
                        context, least);
        return takt_fail_hint(ctx, "the next one that is: -c %zu", (context / least + 1) * least);
    }
    l->tokens = least;
    while (l->tokens < context && !is_good(l, l->tokens, rows))
        l->tokens += least;
    if (mappings(l, l->tokens, rows) > TAKT_KV_MAPPINGS)
        return takt_fail(ctx, TAKT_E_OPTION,
                         "a pool for %zu texts of %zu caches each needs more mappings than the "
                         "%d that are safe to use",
                         rows, l->caches, TAKT_KV_MAPPINGS);
    if (!takt_size_mul(l->block_bytes, l->tokens, &l->block_bytes))
        return takt_fail_memory(ctx, "a block of the pool", SIZE_MAX);
    const uint64_t blocks = bytes / l->block_bytes;
    if (blocks > UINT32_MAX || bytes > SIZE_MAX)
        return takt_fail(ctx, TAKT_E_OPTION,
                         "a pool of %llu bytes has more pages of %zu bytes than can be counted",
                         (unsigned long long)bytes, l->block_bytes);
    if (blocks < 2) {
        (void)takt_fail(ctx, TAKT_E_OPTION,
                        "a pool of %llu bytes: it has at least 2 pages of %zu bytes, each for "
                        "%zu tokens",
                        (unsigned long long)bytes, l->block_bytes, l->tokens);
        return takt_fail_hint(
            ctx, "all texts at their full length need %llu bytes",
            (unsigned long long)(l->block_bytes * (context / l->tokens * rows + 1)));
    }
    l->blocks = (size_t)blocks - 1;
    l->bytes = (size_t)blocks * l->block_bytes;
    return TAKT_OK;
}

size_t takt_kv_needs(const takt_kv_layout *l, size_t tokens)
{
    const size_t most = (size_t)l->context < tokens ? (size_t)l->context : tokens;
    return (most + l->tokens - 1) / l->tokens;
}

/* ---- life ---- */

static takt_status open_file(takt_kv *kv)
{
    uint64_t live;
    if (!takt_count_more(kv->ctx, kv->layout.bytes, &live))
        return takt_fail_memory(kv->ctx, "the pool of caches", kv->layout.bytes);
    const int error = takt_page_file_open(kv->layout.bytes, &kv->file);
    if (error != 0) {
        char reason[64];
        takt_count_less(kv->ctx, kv->layout.bytes);
        return takt_fail(kv->ctx, TAKT_E_MEMORY, "no pool of %zu bytes for caches: %s",
                         kv->layout.bytes, takt_os_reason(error, reason, sizeof reason));
    }
    takt_count_peak(kv->ctx, live);
    return TAKT_OK;
}

static takt_status open_cache(takt_kv *kv, takt_kv_cache *c, takt_storage **storage)
{
    void *at;
    size_t bytes = SIZE_MAX;
    if (!takt_size_mul(kv->rows * (size_t)kv->layout.context, c->token_bytes, &bytes) ||
        takt_pages_reserve(bytes, &at) != 0)
        return takt_fail_memory(kv->ctx, "addresses of caches", bytes);
    c->rows = at;
    return takt_storage_borrow(kv->ctx, at, bytes, NULL, NULL, storage);
}

static takt_status open_caches(takt_kv *kv, const takt_graph *g)
{
    size_t at = 0, offset = 0;
    for (size_t i = 0; i < g->slot_count; i++) {
        const takt_type *t = &g->slots[i].type;
        if (is_count(t, kv->rows))
            continue;
        takt_kv_cache *c = &kv->caches[at++];
        c->token_bytes = token_bytes(t, kv->rows, kv->layout.context);
        c->offset = offset;
        offset += (kv->layout.blocks + 1) * kv->layout.tokens * c->token_bytes;
        TAKT_TRY(open_cache(kv, c, &kv->storages[i]));
    }
    return TAKT_OK;
}

static takt_status open_all(takt_kv *kv, const takt_graph *g)
{
    void *block;
    const size_t most = takt_kv_needs(&kv->layout, SIZE_MAX);
    TAKT_TRY(open_file(kv)); /* first: it shows whether there is enough memory */
    TAKT_TRY(takt_kv_blocks_init(&kv->blocks, kv->ctx, kv->layout.blocks));
    TAKT_TRY(takt_mem_zero(kv->ctx, kv->layout.caches, sizeof *kv->caches, "caches", &block));
    kv->caches = block;
    TAKT_TRY(takt_mem_zero(kv->ctx, g->slot_count, sizeof(takt_storage *), "caches", &block));
    kv->storages = block;
    kv->slot_count = g->slot_count;
    TAKT_TRY(takt_mem_zero(kv->ctx, kv->rows, sizeof *kv->texts, "texts", &block));
    kv->texts = block;
    TAKT_TRY(takt_mem_zero(kv->ctx, kv->rows * most, sizeof *kv->tables, "blocks", &block));
    kv->tables = block;
    TAKT_TRY(open_caches(kv, g));
    for (size_t i = 0; i < kv->rows; i++) {
        kv->texts[i].table = (takt_kv_table){.at = kv->tables + i * most, .is_live = true};
        TAKT_TRY(takt_kv_map(kv, i, 0, 1));
    }
    return TAKT_OK;
}

takt_status takt_kv_open(takt_ctx *ctx, const takt_graph *graph, size_t rows, uint64_t bytes,
                         takt_kv **kv)
{
    void *block;
    takt_kv_layout layout;
    *kv = NULL;
    TAKT_TRY(takt_kv_divide(ctx, graph, rows, bytes, &layout));
    TAKT_TRY(takt_mem_zero(ctx, 1, sizeof **kv, "a pool of caches", &block));
    takt_kv *k = block;
    *k = (takt_kv){.ctx = ctx, .layout = layout, .rows = rows};
    const takt_status status = open_all(k, graph);
    if (status == TAKT_OK)
        *kv = k;
    else
        takt_kv_close(k);
    return status;
}

static void close_caches(takt_kv *kv)
{
    for (size_t i = 0; i < kv->slot_count; i++)
        takt_storage_release(kv->storages[i]);
    takt_mem_put(kv->ctx, kv->storages, kv->slot_count * sizeof(takt_storage *));
    for (size_t i = 0; kv->caches != NULL && i < kv->layout.caches; i++) {
        takt_kv_cache *c = &kv->caches[i];
        takt_pages_put(c->rows, kv->rows * (size_t)kv->layout.context * c->token_bytes);
    }
    takt_mem_put(kv->ctx, kv->caches, kv->layout.caches * sizeof *kv->caches);
}

void takt_kv_close(takt_kv *kv)
{
    if (kv == NULL)
        return;
    takt_ctx *ctx = kv->ctx;
    for (takt_kv_kept *k = kv->kept, *next; k != NULL; k = next) {
        next = k->next;
        takt_mem_put(ctx, k, k->bytes);
    }
    close_caches(kv);
    if (kv->file.all != NULL)
        takt_count_less(ctx, kv->layout.bytes);
    takt_page_file_close(&kv->file);
    const size_t most = takt_kv_needs(&kv->layout, SIZE_MAX);
    takt_mem_put(ctx, kv->tables, kv->rows * most * sizeof *kv->tables);
    takt_mem_put(ctx, kv->texts, kv->rows * sizeof *kv->texts);
    takt_kv_blocks_deinit(&kv->blocks, ctx);
    takt_mem_put(ctx, kv, sizeof *kv);
}
