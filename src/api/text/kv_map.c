/* kv_map.c - the memory of a pool: blocks where texts see them. */
#include <string.h>

#include "api/text/kv.h"
#include "base/error.h"

/* Blocks of a text in the file: block 0 is mapped by rows without a text. */
static size_t place(uint32_t block)
{
    return (size_t)block + 1;
}

static unsigned char *bytes_of(const takt_kv *kv, const takt_kv_cache *c, uint32_t block)
{
    return kv->file.all + c->offset + place(block) * kv->layout.tokens * c->token_bytes;
}

/* Entries [first, end) that follow each other in the file, or that have no block. */
static size_t run_end(const takt_kv_table *t, size_t first, size_t end)
{
    size_t i = first + 1;
    if (first >= t->count)
        return end;
    while (i < end && i < t->count && t->at[i] == t->at[i - 1] + 1)
        i++;
    return i;
}

static int map_run(const takt_kv *kv, const takt_kv_cache *c, size_t row, const size_t run[2])
{
    const takt_kv_table *t = &kv->texts[row].table;
    const size_t block = kv->layout.tokens * c->token_bytes, blocks = run[1] - run[0];
    unsigned char *at = c->rows + row * (size_t)kv->layout.context * c->token_bytes;
    at += run[0] * block;
    if (run[0] < t->count)
        return takt_page_file_map(&kv->file, c->offset + place(t->at[run[0]]) * block,
                                  blocks * block, at);
    if (run[0] > 0)
        return takt_pages_unmap(at, blocks * block);
    const int error = takt_page_file_map(&kv->file, c->offset, block, at);
    return error != 0 || blocks == 1 ? error : takt_pages_unmap(at + block, (blocks - 1) * block);
}

size_t takt_kv_mappings(const takt_kv *kv)
{
    size_t runs = kv->rows * TAKT_KV_OF_ROW;
    for (size_t row = 0; row < kv->rows; row++) {
        const takt_kv_table *t = &kv->texts[row].table;
        for (size_t i = 0; i < t->count; i = run_end(t, i, t->count))
            runs++;
    }
    return runs * kv->layout.caches;
}

takt_status takt_kv_map(takt_kv *kv, size_t row, size_t first, size_t end)
{
    const takt_kv_table *t = &kv->texts[row].table;
    for (size_t run[2] = {first, first}; run[0] < end; run[0] = run[1]) {
        run[1] = run_end(t, run[0], end);
        for (size_t i = 0; i < kv->layout.caches; i++)
            if (map_run(kv, &kv->caches[i], row, run) != 0)
                return takt_fail(kv->ctx, TAKT_E_MEMORY,
                                 "the system cannot map a page of the pool of caches");
    }
    return TAKT_OK;
}

void takt_kv_copy(takt_kv *kv, uint32_t from, uint32_t to, size_t tokens)
{
    for (size_t i = 0; i < kv->layout.caches; i++) {
        const takt_kv_cache *c = &kv->caches[i];
        memcpy(bytes_of(kv, c, to), bytes_of(kv, c, from), tokens * c->token_bytes);
    }
    kv->blocks.is_dirty[to] = true;
}

void takt_kv_read(const takt_kv *kv, const takt_kv_table *table, size_t slot, size_t tokens,
                  unsigned char *to)
{
    const takt_kv_cache *c = kv->caches;
    for (size_t i = 0; i < slot; i++)
        c += kv->storages[i] != NULL; /* caches are in the order of the states */
    for (size_t i = 0, count; tokens > 0; i++, tokens -= count) {
        count = tokens < kv->layout.tokens ? tokens : kv->layout.tokens;
        memcpy(to, bytes_of(kv, c, table->at[i]), count * c->token_bytes);
        to += count * c->token_bytes;
    }
}

void takt_kv_clean(takt_kv *kv, uint32_t block)
{
    if (!kv->blocks.is_dirty[block])
        return;
    for (size_t i = 0; i < kv->layout.caches; i++) {
        const takt_kv_cache *c = &kv->caches[i];
        memset(bytes_of(kv, c, block), 0, kv->layout.tokens * c->token_bytes);
    }
    kv->blocks.is_dirty[block] = false;
}
