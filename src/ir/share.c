/* share.c - equal constants of several plans become one storage.
 *
 * Plans of other sizes, levels or threads pack the same weights into the same bytes. A context
 * lists the storages that may be shared, without holding them: the last plan that goes takes its
 * storage with it. A few words of the bytes tell which may be equal; those are compared in full, so
 * what is shared is equal, and what is not costs next to nothing.
 */
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "ir/storage.h"
#include "ir/storage_fields.h"

enum { WORTH_SHARING = 256 /* bytes */, SAMPLES = 32 /* words */ };

/* A hash of words spread over the whole storage, including the last one. */
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
    takt_lock_take(&ctx->shares_lock);
    size_t at = 0;
    for (takt_storage *s = ctx->shares; s != NULL && found == NULL; s = s->next, at++)
        if (at >= *skip && s->hash == hash && s->bytes == bytes && hold(s))
            found = s;
    *skip = at;
    takt_lock_give(&ctx->shares_lock);
    return found;
}

static void add(takt_ctx *ctx, takt_storage *s)
{
    takt_lock_take(&ctx->shares_lock);
    s->next = ctx->shares;
    s->previous = &ctx->shares;
    if (s->next != NULL)
        s->next->previous = &s->next;
    ctx->shares = s;
    s->is_shared = true;
    takt_lock_give(&ctx->shares_lock);
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
    add(s->ctx, s);
    return TAKT_OK;
}

void takt_storage_unshare(takt_storage *s)
{
    takt_lock_take(&s->ctx->shares_lock);
    *s->previous = s->next;
    if (s->next != NULL)
        s->next->previous = s->previous;
    takt_lock_give(&s->ctx->shares_lock);
}

size_t takt_storage_count_once(takt_storage *s, uint64_t tick)
{
    if (s->counted == tick)
        return 0;
    s->counted = tick;
    return sizeof *s + (s->room > 0 || s->is_borrowed ? s->room : 1);
}
