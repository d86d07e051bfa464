/* json_keys.c - a table with open addressing, at most two thirds full. */
#include "base/json_keys.h"

#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

takt_status takt_json_keys_open(takt_json_keys *k, takt_ctx *ctx, size_t count)
{
    void *at;
    size_t slots = 16;
    while (slots < count + count / 2)
        slots *= 2;
    *k = (takt_json_keys){0};
    TAKT_TRY(takt_mem_zero(ctx, slots, sizeof *k->at, "the keys of a JSON text", &at));
    k->at = at;
    k->slots = slots;
    /* An author of colliding keys cannot know addresses and time. */
    k->seed = takt_hash_word((uint64_t)(uintptr_t)at, (uint64_t)(uintptr_t)k);
    if (ctx->now_ns != NULL)
        k->seed = takt_hash_word(k->seed, ctx->now_ns(ctx->clock_user));
    return TAKT_OK;
}

void takt_json_keys_close(takt_json_keys *k, takt_ctx *ctx)
{
    takt_mem_put(ctx, k->at, k->slots * sizeof *k->at);
}

bool takt_json_keys_add(takt_json_keys *k, const takt_json *values, uint32_t owner, uint32_t index)
{
    const char *key = values[index].key;
    const uint64_t hash = takt_hash_bytes(takt_hash_word(k->seed, owner), key, strlen(key));
    const uint32_t high = (uint32_t)(hash >> 32);
    size_t slot = (size_t)hash & (k->slots - 1);
    for (; k->at[slot].value != 0; slot = (slot + 1) & (k->slots - 1)) {
        const takt_json_seen *other = &k->at[slot];
        k->looks++;
        if (other->hash != high || other->owner != owner)
            continue;
        k->looks++;
        if (strcmp(values[other->value - 1].key, key) == 0)
            return false;
    }
    k->looks++;
    k->at[slot] = (takt_json_seen){index + 1, owner, high};
    return true;
}
