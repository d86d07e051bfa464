/* share.c - equal constants of several plans become one storage.
 *
 * Plans of other sizes, levels or threads pack the same weights into the same bytes. A context
 * knows the storages that may be shared, without holding them: the last plan that goes takes its
 * storage with it. A few words of the bytes tell which may be equal; those are compared in full, so
 * what is shared is equal, and what is not costs next to nothing.
 */
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "ir/storage.h"
#include "ir/storage_fields.h"

enum { WORTH_SHARING = 256 /* bytes */, SAMPLES = 32 /* words */ };

struct takt_shares {
    takt_storage **at;
    size_t count, capacity;
};

static void lock(takt_ctx *ctx)
{
    while (atomic_exchange_explicit(&ctx->shares_busy, true, memory_order_acquire))
        ;
}

static void unlock(takt_ctx *ctx)
{
    atomic_store_explicit(&ctx->shares_busy, false, memory_order_release);
}

/* Of words spread over all of it, the last one among them. */
static uint64_t sample(const takt_storage *s)
{
    const size_t words = s->bytes / sizeof(uint64_t);
    uint64_t h = s->bytes;
    for (size_t i = 0; i < SAMPLES; i++) {
        uint64_t word;
        const size_t at = i * (words - 1) / (SAMPLES - 1); /* words < 2^58: no overflow */
        memcpy(&word, (const char *)s->data + at * sizeof word, sizeof word);
        h = takt_hash_word(h, word);
    }
    return h;
}

/* One more holder, unless the last one is just letting go. */
static bool hold(takt_storage *s)
{
    unsigned now = atomic_load_explicit(&s->references, memory_order_relaxed);
    while (now > 0)
        if (atomic_compare_exchange_weak(&s->references, &now, now + 1))
            return true;
    return false;
}

/* A storage of this hash and size after the `skip` first ones, held; or NULL. */
static takt_storage *candidate(takt_ctx *ctx, uint64_t hash, size_t bytes, size_t *skip)
{
    takt_storage *found = NULL;
    lock(ctx);
    const struct takt_shares *t = ctx->shares;
    for (; t != NULL && *skip < t->count && found == NULL; (*skip)++) {
        takt_storage *s = t->at[*skip];
        if (s->hash == hash && s->bytes == bytes && hold(s))
            found = s;
    }
    unlock(ctx);
    return found;
}

/* Room for one more is made outside the lock. */
static takt_status add(takt_ctx *ctx, takt_storage *s)
{
    for (;;) {
        lock(ctx);
        struct takt_shares *t = ctx->shares;
        const size_t need = t != NULL ? 2 * t->capacity : 8;
        const bool has_room = t != NULL && t->count < t->capacity;
        if (has_room) {
            t->at[t->count++] = s;
            s->is_shared = true;
        }
        unlock(ctx);
        if (has_room)
            return TAKT_OK;
        void *block;
        const size_t bytes = sizeof *t + need * sizeof *t->at;
        TAKT_TRY(takt_mem_get(ctx, bytes, "shared constants", &block));
        struct takt_shares *more = block, *old = NULL;
        *more = (struct takt_shares){.at = (takt_storage **)(void *)(more + 1), .capacity = need};
        lock(ctx);
        if (ctx->shares == NULL || ctx->shares->capacity < need) {
            old = ctx->shares;
            more->count = old != NULL ? old->count : 0;
            if (old != NULL)
                memcpy(more->at, old->at, old->count * sizeof *old->at);
            ctx->shares = more;
        } else {
            old = more; /* somebody else was faster */
        }
        unlock(ctx);
        takt_mem_put(ctx, old, old != NULL ? sizeof *old + old->capacity * sizeof *old->at : 0);
    }
}

takt_status takt_storage_share(takt_storage **storage)
{
    takt_storage *s = *storage, *other;
    if (s == NULL || s->bytes < WORTH_SHARING || s->is_borrowed || s->is_shared ||
        atomic_load(&s->references) != 1)
        return TAKT_OK;
    s->hash = sample(s);
    for (size_t skip = 0; (other = candidate(s->ctx, s->hash, s->bytes, &skip)) != NULL;) {
        if (memcmp(other->data, s->data, s->bytes) == 0) {
            *storage = other;
            takt_storage_release(s);
            return TAKT_OK;
        }
        takt_storage_release(other);
    }
    return add(s->ctx, s);
}

void takt_storage_unshare(takt_storage *s)
{
    takt_ctx *ctx = s->ctx;
    struct takt_shares *empty = NULL;
    lock(ctx);
    struct takt_shares *t = ctx->shares;
    for (size_t i = 0; i < t->count; i++)
        if (t->at[i] == s) {
            t->at[i] = t->at[--t->count];
            break;
        }
    if (t->count == 0) {
        empty = t;
        ctx->shares = NULL;
    }
    unlock(ctx);
    if (empty != NULL)
        takt_mem_put(ctx, empty, sizeof *empty + empty->capacity * sizeof *empty->at);
}

size_t takt_storage_count_once(takt_storage *s, uint64_t tick)
{
    if (s->counted == tick)
        return 0;
    s->counted = tick;
    return s->bytes;
}
