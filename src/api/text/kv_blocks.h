/* kv_blocks.h - which blocks of a pool belong to which texts: counts only, no memory of caches.
 *
 * A block has the keys and values of a fixed number of tokens, in all caches of a model. A table
 * lists the blocks of one text in order. Texts that begin alike hold the same blocks. A table is
 * live while its text is being written; the others are a cache of prompts, and can be dropped at
 * any time.
 */
#ifndef TAKT_API_TEXT_KV_BLOCKS_H
#define TAKT_API_TEXT_KV_BLOCKS_H

#include "base/ctx.h"

typedef struct takt_kv_table {
    uint32_t *at; /* with room for as many as a text can have */
    size_t count;
    bool is_live;
} takt_kv_table;

typedef struct takt_kv_blocks {
    size_t count;
    uint32_t *refs;                              /* tables that hold the block */
    uint32_t *lives;                             /* of these, live ones */
    bool *is_dirty;                              /* it was written since it was zero */
    size_t free_count, live_count, shared_count; /* no table; a live one; several */
} takt_kv_blocks;

TAKT_MUST_USE takt_status takt_kv_blocks_init(takt_kv_blocks *b, takt_ctx *ctx, size_t count);
void takt_kv_blocks_deinit(takt_kv_blocks *b, takt_ctx *ctx); /* accepts one that is zero */
/* Appends `count` blocks that no other table has, the lowest free ones; false: there are too few,
 * and nothing has changed. */
bool takt_kv_take(takt_kv_blocks *b, takt_kv_table *t, size_t count);
/* Appends a block that another table has. */
void takt_kv_share(takt_kv_blocks *b, takt_kv_table *t, uint32_t block);
/* Entry `i` becomes a block that another table has; its own is dropped. */
void takt_kv_replace(takt_kv_blocks *b, takt_kv_table *t, size_t i, uint32_t block);
/* Drops all entries from `count` on. */
void takt_kv_trim(takt_kv_blocks *b, takt_kv_table *t, size_t count);
/* The text has ended; `to` takes over its blocks and is not live. `from` is empty afterwards. */
void takt_kv_rest(takt_kv_blocks *b, takt_kv_table *from, takt_kv_table *to);
/* Whether entry `i` is also in another table. */
bool takt_kv_is_shared(const takt_kv_blocks *b, const takt_kv_table *t, size_t i);
/* Blocks that a live table could get if all others were dropped. */
size_t takt_kv_available(const takt_kv_blocks *b);

#endif
