/* stash.c - one block of memory, which exists from the first part that is put in until all are
 * taken. Threads put in whole chunks, so a chunk is there or not. */
#include "io/gguf/stash.h"

#include <string.h>

#include "base/lock.h"
#include "base/mem.h"

struct takt_gguf_stash {
    takt_ctx *ctx;
    atomic_uint references;
    takt_lock lock;
    uint8_t *at; /* the parts, then a byte for each chunk: it is there */
    size_t bytes, blocks, chunks;
    size_t writers;
    bool is_over; /* the parts were asked for */
};

takt_status takt_gguf_stash_create(takt_ctx *ctx, size_t blocks, size_t width,
                                   takt_gguf_stash **stash)
{
    void *block;
    *stash = NULL;
    TAKT_TRY(takt_mem_zero(ctx, 1, sizeof **stash, "weights", &block));
    takt_gguf_stash *s = *stash = block;
    s->ctx = ctx;
    s->bytes = blocks * width; /* of a tensor, so this cannot overflow */
    s->blocks = blocks;
    s->chunks = (blocks + TAKT_GGUF_CHUNK - 1) / TAKT_GGUF_CHUNK;
    atomic_init(&s->references, 1);
    return TAKT_OK;
}

takt_gguf_stash *takt_gguf_stash_retain(takt_gguf_stash *s)
{
    if (s != NULL)
        atomic_fetch_add_explicit(&s->references, 1, memory_order_relaxed);
    return s;
}

void takt_gguf_stash_release(takt_gguf_stash *s)
{
    if (s == NULL || atomic_fetch_sub_explicit(&s->references, 1, memory_order_acq_rel) != 1)
        return;
    takt_ctx *ctx = s->ctx;
    takt_mem_put(ctx, s->at, s->bytes + s->chunks);
    takt_mem_put(ctx, s, sizeof *s);
}

uint8_t *takt_gguf_stash_open(takt_gguf_stash *s)
{
    void *block;
    takt_lock_take(&s->lock);
    if (s->at == NULL && !s->is_over &&
        takt_mem_get(s->ctx, s->bytes + s->chunks, "scales of weights", &block) == TAKT_OK) {
        s->at = block;
        memset(s->at + s->bytes, 0, s->chunks);
    }
    uint8_t *at = s->at;
    s->writers += at != NULL;
    takt_lock_give(&s->lock);
    return at;
}

void takt_gguf_stash_close(takt_gguf_stash *s, size_t first, size_t end)
{
    const size_t last = end == s->blocks ? s->chunks : end / TAKT_GGUF_CHUNK;
    uint8_t *unwanted = NULL;
    takt_lock_take(&s->lock);
    if (last > first / TAKT_GGUF_CHUNK)
        memset(s->at + s->bytes + first / TAKT_GGUF_CHUNK, 1, last - first / TAKT_GGUF_CHUNK);
    if (--s->writers == 0 && s->is_over) {
        unwanted = s->at;
        s->at = NULL;
    }
    takt_lock_give(&s->lock);
    takt_mem_put(s->ctx, unwanted, s->bytes + s->chunks);
}

bool takt_gguf_stash_take(takt_gguf_stash *s, void *to)
{
    uint8_t *at = NULL;
    takt_lock_take(&s->lock);
    s->is_over = true;
    if (s->writers == 0) {
        at = s->at;
        s->at = NULL;
    }
    takt_lock_give(&s->lock);
    const bool is_whole = at != NULL && memchr(at + s->bytes, 0, s->chunks) == NULL;
    if (is_whole)
        memcpy(to, at, s->bytes);
    takt_mem_put(s->ctx, at, s->bytes + s->chunks);
    return is_whole;
}
