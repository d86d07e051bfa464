/* kv_texts.c - texts in a pool of keys and values: who has which blocks. */
#include <string.h>

#include "api/text/engine.h"
#include "base/mem.h"

/* ---- texts that begin alike ---- */

/* What can be shared with another text. */
typedef struct donor {
    const takt_kv_table *table;
    takt_kv_kept *kept; /* NULL: the text is being written */
    size_t count;       /* tokens */
} donor;

static size_t common(const int32_t *a, size_t a_count, const int32_t *b, size_t b_count)
{
    const size_t least = a_count < b_count ? a_count : b_count;
    size_t same = 0;
    while (same < least && a[same] == b[same])
        same++;
    return same;
}

static donor find_donor(const takt_kv *kv, const takt_generator *not_of, const int32_t *ids,
                        size_t count)
{
    donor best = {NULL, NULL, 0};
    const size_t most = count > 0 ? count - 1 : 0;
    for (size_t i = 0; i < kv->rows; i++) {
        const takt_generator *g = kv->texts[i].g;
        const size_t same = g != NULL && g != not_of ? takt_generator_common(g, ids, most) : 0;
        if (same > best.count)
            best = (donor){&kv->texts[i].table, NULL, same};
    }
    for (takt_kv_kept *k = kv->kept; k != NULL; k = k->next) {
        const size_t same = common(k->ids, k->count, ids, most);
        if (same > best.count)
            best = (donor){&k->table, k, same};
    }
    return best;
}

/* ---- texts that have ended ---- */

static void unlink_kept(takt_kv *kv, const takt_kv_kept *k)
{
    takt_kv_kept **at = &kv->kept;
    while (*at != k)
        at = &(*at)->next;
    *at = k->next;
    kv->kept_count--;
}

static void link_kept(takt_kv *kv, takt_kv_kept *k)
{
    k->next = kv->kept;
    kv->kept = k;
    kv->kept_count++;
}

static void drop_kept(takt_kv *kv, takt_kv_kept *k)
{
    unlink_kept(kv, k);
    takt_kv_trim(&kv->blocks, &k->table, 0);
    takt_mem_put(kv->ctx, k, k->bytes);
}

/* The least recently used that is not `but`; NULL: there is no other. */
static takt_kv_kept *oldest(const takt_kv *kv, const takt_kv_kept *but)
{
    takt_kv_kept *found = NULL;
    for (takt_kv_kept *k = kv->kept; k != NULL; k = k->next)
        found = k != but ? k : found;
    return found;
}

/* Drops texts until `count` blocks are free, `last` after all others; false if it was dropped as
 * well. */
static bool make_room(takt_kv *kv, size_t blocks, takt_kv_kept *last)
{
    takt_kv_kept *k;
    while (kv->blocks.free_count < blocks && (k = oldest(kv, last)) != NULL)
        drop_kept(kv, k);
    if (kv->blocks.free_count >= blocks || last == NULL)
        return true;
    drop_kept(kv, last);
    return false;
}

/* ---- admission ---- */

/* Blocks of texts that are being written, which this one need not have again: at most `count`. */
static size_t most_shared(const takt_kv *kv, size_t count)
{
    const size_t full = count > 0 ? (count - 1) / kv->layout.tokens : 0;
    return full < kv->blocks.live_count ? full : kv->blocks.live_count;
}

/* A waiting text is examined at every step: its tokens are compared with those of others only where
 * the result matters. */
bool takt_kv_fits(const takt_kv *kv, const int32_t *ids, size_t count, size_t worst)
{
    const size_t blocks = takt_kv_needs(&kv->layout, worst);
    const size_t available = takt_kv_available(&kv->blocks);
    if (takt_kv_mappings(kv) + blocks * kv->layout.caches > TAKT_KV_MAPPINGS)
        return false;
    if (blocks <= available || blocks > available + most_shared(kv, count))
        return blocks <= available;
    const donor d = find_donor(kv, NULL, ids, count);
    const size_t full = d.count / kv->layout.tokens;
    size_t needs = blocks - full;
    for (size_t i = 0; i < full; i++)
        needs += kv->blocks.lives[d.table->at[i]] == 0;
    return needs <= available;
}

/* The blocks of a text of `worst` tokens: the donor's full blocks, then zeroed ones. `*count`:
 * number of tokens from the donor. */
static takt_status take_blocks(takt_kv *kv, takt_kv_table *t, donor d, size_t worst, size_t *count)
{
    const size_t full = d.count / kv->layout.tokens;
    for (size_t i = 0; i < full; i++)
        takt_kv_share(&kv->blocks, t, d.table->at[i]);
    const size_t needs = takt_kv_needs(&kv->layout, worst) - full;
    const bool has_donor = make_room(kv, needs, d.kept);
    if (!takt_kv_take(&kv->blocks, t, needs))
        return takt_fail(kv->ctx, TAKT_E_MEMORY, "the pool of caches has no room for %zu tokens",
                         worst);
    for (size_t i = full; i < t->count; i++)
        takt_kv_clean(kv, t->at[i]);
    *count = has_donor ? d.count : full * kv->layout.tokens;
    if (*count % kv->layout.tokens > 0)
        takt_kv_copy(kv, d.table->at[full], t->at[full], *count % kv->layout.tokens);
    if (has_donor && d.kept != NULL) {
        unlink_kept(kv, d.kept);
        link_kept(kv, d.kept);
    }
    return TAKT_OK;
}

/* Unmaps the blocks of a row, which still holds them. */
static takt_status unmap(takt_kv *kv, size_t row)
{
    takt_kv_table *t = &kv->texts[row].table;
    const size_t count = t->count;
    t->count = 0;
    const takt_status status = takt_kv_map(kv, row, 0, count > 0 ? count : 1);
    t->count = count;
    return status;
}

/* The first block comes last: until then the row looks like one without a text. */
static takt_status map_all(takt_kv *kv, size_t row)
{
    TAKT_TRY(takt_kv_map(kv, row, 1, kv->texts[row].table.count));
    return takt_kv_map(kv, row, 0, 1);
}

takt_status takt_kv_admit(takt_generator *g, const int32_t *ids, size_t count, size_t worst)
{
    takt_kv *kv = g->engine.kv;
    takt_kv_table *t = &kv->texts[g->row].table;
    size_t has = 0;
    takt_status status = take_blocks(kv, t, find_donor(kv, g, ids, count), worst, &has);
    if (status == TAKT_OK)
        status = map_all(kv, g->row);
    if (status == TAKT_OK)
        return takt_generator_place(g, ids, has);
    const takt_error error = kv->ctx->error;
    if (unmap(kv, g->row) == TAKT_OK)
        takt_kv_trim(&kv->blocks, t, 0);
    kv->ctx->error = error;
    return status;
}

size_t takt_kv_room(const takt_generator *g)
{
    const takt_kv *kv = g->engine.kv;
    return kv->texts[g->row].table.count * kv->layout.tokens;
}

/* ---- while a text is written ---- */

takt_status takt_kv_adopt(takt_generator *g, const int32_t *ids, size_t count, size_t *has)
{
    takt_kv *kv = g->engine.kv;
    takt_kv_table *t = &kv->texts[g->row].table;
    const size_t first = (size_t)g->position / kv->layout.tokens;
    const donor d = find_donor(kv, g, ids, count);
    const size_t full = d.count / kv->layout.tokens, rest = d.count % kv->layout.tokens;
    *has = (size_t)g->position;
    if (d.count <= *has || d.count > t->count * kv->layout.tokens)
        return TAKT_OK;
    for (size_t i = first; i < full; i++) {
        kv->blocks.is_dirty[t->at[i]] = true;
        takt_kv_replace(&kv->blocks, t, i, d.table->at[i]);
    }
    TAKT_TRY(takt_kv_map(kv, g->row, first, full));
    if (rest > 0)
        takt_kv_copy(kv, d.table->at[full], t->at[full], rest);
    *has = d.count;
    return takt_generator_place(g, ids, d.count);
}

takt_status takt_kv_own(takt_generator *g, int64_t position)
{
    takt_kv *kv = g->engine.kv;
    takt_kv_table *t = &kv->texts[g->row].table;
    const size_t tokens = kv->layout.tokens, end = (size_t)g->position + g->ahead;
    for (size_t i = (size_t)position / tokens; i < t->count && i * tokens < end; i++) {
        takt_kv_table fresh = {.at = &(uint32_t){0}, .is_live = true};
        if (!takt_kv_is_shared(&kv->blocks, t, i))
            continue;
        (void)make_room(kv, 1, NULL);
        if (!takt_kv_is_shared(&kv->blocks, t, i))
            continue;
        if (!takt_kv_take(&kv->blocks, &fresh, 1))
            return takt_fail(kv->ctx, TAKT_E_MEMORY, "the pool of caches has no page left");
        takt_kv_copy(kv, t->at[i], fresh.at[0], tokens);
        takt_kv_replace(&kv->blocks, t, i, fresh.at[0]);
        takt_kv_trim(&kv->blocks, &fresh, 0);
        TAKT_TRY(takt_kv_map(kv, g->row, i, i + 1));
    }
    return TAKT_OK;
}

/* ---- the end of a text ---- */

/* Drops kept texts that are a prefix of the tokens; true: a kept text begins with all of them. */
static bool is_known(takt_kv *kv, const int32_t *ids, size_t count)
{
    for (takt_kv_kept *k = kv->kept, *next; k != NULL; k = next) {
        const size_t same = common(k->ids, k->count, ids, count);
        next = k->next;
        if (same == count) {
            unlink_kept(kv, k);
            link_kept(kv, k);
            return true;
        }
        if (same == k->count)
            drop_kept(kv, k);
    }
    return false;
}

/* Without memory for its record it is not kept, and has to be read again. */
static void keep(takt_kv *kv, takt_generator *g)
{
    takt_kv_table *t = &kv->texts[g->row].table;
    const size_t count = (size_t)g->position;
    void *block;
    if (count == 0 || is_known(kv, g->history, count))
        return;
    const takt_error error = kv->ctx->error;
    const size_t bytes = sizeof(takt_kv_kept) + count * sizeof(int32_t) + t->count * sizeof *t->at;
    if (takt_mem_get(kv->ctx, bytes, "a text that is kept", &block) != TAKT_OK) {
        kv->ctx->error = error;
        return;
    }
    takt_kv_kept *k = block;
    *k = (takt_kv_kept){.count = count, .bytes = bytes};
    memcpy(k->ids, g->history, count * sizeof *k->ids);
    k->table.at = (uint32_t *)(void *)(k->ids + count);
    takt_kv_rest(&kv->blocks, t, &k->table);
    link_kept(kv, k);
}

takt_status takt_kv_release(takt_generator *g)
{
    takt_kv *kv = g->engine.kv;
    takt_kv_table *t = &kv->texts[g->row].table;
    const size_t tokens = kv->layout.tokens;
    TAKT_TRY(takt_generator_settle(g));
    TAKT_TRY(unmap(kv, g->row));
    /* A row that rests while others are read has written one token more. */
    for (size_t i = 0; i < t->count && i * tokens <= (size_t)g->position; i++)
        kv->blocks.is_dirty[t->at[i]] = true;
    takt_kv_trim(&kv->blocks, t, takt_kv_needs(&kv->layout, (size_t)g->position));
    keep(kv, g);
    takt_kv_trim(&kv->blocks, t, 0);
    return takt_generator_place(g, NULL, 0);
}
