/* kv_blocks.c - which blocks of a pool belong to which texts. */
#include "api/text/kv_blocks.h"

#include "base/mem.h"

takt_status takt_kv_blocks_init(takt_kv_blocks *b, takt_ctx *ctx, size_t count)
{
    void *block;
    *b = (takt_kv_blocks){.count = count, .free_count = count};
    TAKT_TRY(takt_mem_zero(ctx, count, sizeof *b->refs, "blocks", &block));
    b->refs = block;
    TAKT_TRY(takt_mem_zero(ctx, count, sizeof *b->lives, "blocks", &block));
    b->lives = block;
    TAKT_TRY(takt_mem_zero(ctx, count, sizeof *b->is_dirty, "blocks", &block));
    b->is_dirty = block;
    return TAKT_OK;
}

void takt_kv_blocks_deinit(takt_kv_blocks *b, takt_ctx *ctx)
{
    takt_mem_put(ctx, b->refs, b->count * sizeof *b->refs);
    takt_mem_put(ctx, b->lives, b->count * sizeof *b->lives);
    takt_mem_put(ctx, b->is_dirty, b->count * sizeof *b->is_dirty);
    *b = (takt_kv_blocks){0};
}

static void hold(takt_kv_blocks *b, uint32_t block, bool is_live)
{
    b->free_count -= b->refs[block] == 0;
    b->shared_count += b->refs[block] == 1;
    b->live_count += is_live && b->lives[block] == 0;
    b->refs[block]++;
    b->lives[block] += is_live;
}

static void calm(takt_kv_blocks *b, uint32_t block)
{
    b->lives[block]--;
    b->live_count -= b->lives[block] == 0;
}

static void drop(takt_kv_blocks *b, uint32_t block, bool is_live)
{
    if (is_live)
        calm(b, block);
    b->refs[block]--;
    b->free_count += b->refs[block] == 0;
    b->shared_count -= b->refs[block] == 1;
}

bool takt_kv_take(takt_kv_blocks *b, takt_kv_table *t, size_t count)
{
    if (count > b->free_count)
        return false;
    for (uint32_t block = 0; count > 0; block++) {
        if (b->refs[block] > 0)
            continue;
        takt_kv_share(b, t, block);
        count--;
    }
    return true;
}

void takt_kv_share(takt_kv_blocks *b, takt_kv_table *t, uint32_t block)
{
    hold(b, block, t->is_live);
    t->at[t->count++] = block;
}

void takt_kv_replace(takt_kv_blocks *b, takt_kv_table *t, size_t i, uint32_t block)
{
    hold(b, block, t->is_live);
    drop(b, t->at[i], t->is_live);
    t->at[i] = block;
}

void takt_kv_trim(takt_kv_blocks *b, takt_kv_table *t, size_t count)
{
    while (t->count > count)
        drop(b, t->at[--t->count], t->is_live);
}

void takt_kv_rest(takt_kv_blocks *b, takt_kv_table *from, takt_kv_table *to)
{
    for (size_t i = 0; i < from->count; i++) {
        if (from->is_live)
            calm(b, from->at[i]);
        to->at[i] = from->at[i];
    }
    to->count = from->count;
    to->is_live = false;
    from->count = 0;
}

bool takt_kv_is_shared(const takt_kv_blocks *b, const takt_kv_table *t, size_t i)
{
    return b->refs[t->at[i]] > 1;
}

size_t takt_kv_available(const takt_kv_blocks *b)
{
    return b->count - b->live_count;
}
