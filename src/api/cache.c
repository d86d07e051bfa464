/* cache.c - the plan cache of a context: least recently used, bounded by count and by bytes.
 *
 * A plan's key is a text: the digest of graph and weights, the size of every named dimension, and
 * every option. The lock is held while the table is looked at, never while a plan is made or freed.
 */
#include "api/cache.h"

#include <inttypes.h>
#include <string.h>

#include "api/model.h"
#include "api/plan_options.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/options.h"
#include "ir/held.h"
#include "ir/late.h"
#include "plan/plan.h"

#include <takt/plan.h>

typedef struct entry {
    char *key;
    size_t key_bytes;
    takt_plan *plan; /* one reference is the cache's */
    uint64_t used;
} entry;

struct takt_plan_cache {
    entry at[TAKT_CACHE_PLANS];
    size_t count;
    uint64_t clock;
    takt_eager *eager;
    struct takt_tensor_pool *pools;
};

/* ---- lock ---- */

void takt_cache_lock(takt_ctx *ctx)
{
    takt_lock_take(&ctx->plans_lock);
}

void takt_cache_unlock(takt_ctx *ctx)
{
    takt_lock_give(&ctx->plans_lock);
}

/* ---- keys ---- */

/* 0 if memory is short. */
static uint64_t digest_of(const takt_model *m)
{
    uint64_t h = takt_graph_digest(m->graph);
    if (h == 0)
        return 0;
    for (size_t i = 0; i < m->graph->slot_count; i++)
        if (m->slots[i].storage != NULL)
            h = takt_tensor_hash(&m->slots[i], h);
    h = takt_hash_word(h, m->seed);
    return h != 0 ? h : 1;
}

uint64_t takt_model_digest(const takt_model *m)
{
    _Atomic uint64_t *key = (_Atomic uint64_t *)&m->key; /* computed once, the same by anybody */
    uint64_t value = atomic_load_explicit(key, memory_order_relaxed);
    if (value == 0) {
        value = digest_of(m);
        atomic_store_explicit(key, value, memory_order_relaxed);
    }
    return value;
}

static takt_status write_key(const takt_model *m, const takt_plan_options *o, takt_text *text)
{
    const uint64_t digest = takt_model_digest(m);
    if (digest == 0)
        return TAKT_ERR_MEMORY;
    takt_text_add(text, "%016" PRIx64, digest);
    return takt_plan_options_key(m, o, text);
}

/* ---- table; the lock is held ---- */

static bool is_used(const entry *e)
{
    return __atomic_load_n(&e->plan->references, __ATOMIC_ACQUIRE) > 1;
}

static takt_plan *find(takt_ctx *ctx, const char *key)
{
    takt_plan_cache *c = ctx->plans;
    for (size_t i = 0; c != NULL && i < c->count; i++)
        if (strcmp(c->at[i].key, key) == 0) {
            c->at[i].used = ++c->clock;
            takt_plan_retain_internal(c->at[i].plan);
            return c->at[i].plan;
        }
    return NULL;
}

/* Takes the least recently used plan that is not in use out of the table. */
static bool take_oldest(takt_plan_cache *c, entry *taken)
{
    size_t oldest = c->count;
    for (size_t i = 0; i < c->count; i++)
        if (!is_used(&c->at[i]) && (oldest == c->count || c->at[i].used < c->at[oldest].used))
            oldest = i;
    if (oldest == c->count)
        return false;
    *taken = c->at[oldest];
    c->at[oldest] = c->at[--c->count];
    return true;
}

/* The memory of all plans and one more; what plans share counts once. */
static uint64_t sum(takt_ctx *ctx, const takt_plan *more)
{
    const takt_plan_cache *c = ctx->plans;
    takt_tally t = {.tick = ++ctx->tick};
    takt_tally_plan(&t, more);
    for (size_t i = 0; i < c->count; i++)
        takt_tally_plan(&t, c->at[i].plan);
    return t.bytes;
}

static void drop(takt_ctx *ctx, entry *e)
{
    takt_plan_release_internal(e->plan);
    takt_mem_put(ctx, e->key, e->key_bytes);
}

/* ---- use ---- */

/* Makes room for one more; false if every plan of a full table is in use. */
static bool make_room(takt_ctx *ctx, const takt_plan *more)
{
    for (;;) {
        entry old;
        takt_cache_lock(ctx);
        const bool is_tight = sum(ctx, more) > ctx->limits.bytes / 4;
        const bool is_full = ctx->plans->count == TAKT_CACHE_PLANS;
        const bool found = (is_full || is_tight) && take_oldest(ctx->plans, &old);
        takt_cache_unlock(ctx);
        if (!found)
            return !is_full;
        drop(ctx, &old);
    }
}

takt_status takt_cache_begin(takt_ctx *ctx)
{
    takt_cache_lock(ctx);
    const bool is_there = ctx->plans != NULL;
    takt_cache_unlock(ctx);
    if (is_there)
        return TAKT_OK;
    void *block;
    TAKT_TRY(takt_mem_zero(ctx, 1, sizeof(takt_plan_cache), "plan cache", &block));
    takt_cache_lock(ctx);
    if (ctx->plans == NULL) {
        ctx->plans = block;
        block = NULL;
    }
    takt_cache_unlock(ctx);
    takt_mem_put(ctx, block, sizeof(takt_plan_cache));
    return TAKT_OK;
}

takt_eager **takt_cache_eager(takt_ctx *ctx)
{
    return &ctx->plans->eager;
}

struct takt_tensor_pool **takt_cache_pools(takt_ctx *ctx)
{
    return &ctx->plans->pools;
}

/* Inserts `*plan`, or takes the plan that another thread has inserted meanwhile. */
static takt_status keep(takt_ctx *ctx, const char *text, takt_plan **plan)
{
    entry e = {.key_bytes = strlen(text) + 1, .plan = *plan};
    void *key;
    TAKT_TRY(takt_cache_begin(ctx));
    TAKT_TRY(takt_mem_get(ctx, e.key_bytes, "plan key", &key));
    memcpy(key, text, e.key_bytes);
    e.key = key;
    const bool has_room = make_room(ctx, *plan);
    takt_cache_lock(ctx);
    takt_plan *other = find(ctx, text);
    const bool is_kept = other == NULL && has_room && ctx->plans->count < TAKT_CACHE_PLANS;
    if (is_kept) {
        takt_plan_retain_internal(*plan);
        e.used = ++ctx->plans->clock;
        ctx->plans->at[ctx->plans->count++] = e;
    }
    takt_cache_unlock(ctx);
    if (!is_kept)
        takt_mem_put(ctx, key, e.key_bytes);
    if (other != NULL) {
        takt_plan_release_internal(*plan);
        *plan = other;
    }
    return TAKT_OK;
}

static takt_status refuse(const takt_model *m, const takt_plan_options *o)
{
    const bool is_sized = o->sizes != NULL && o->sizes[0] != '\0';
    takt_fail(m->ctx, TAKT_E_STATIC_SHAPES, "%s has no plan for %s, and shapes are static",
              takt_model_name(m), is_sized ? o->sizes : "the default sizes");
    return takt_fail_hint(m->ctx, "prepare it: --prepare %s, or takt_prepare",
                          is_sized ? o->sizes : "batch=1");
}

takt_status takt_plan_get(const takt_model *m, const takt_plan_options *options, takt_plan **plan)
{
    TAKT_NEED(NULL, m);
    TAKT_NEED(NULL, plan);
    takt_plan_options o;
    takt_text key;
    *plan = NULL;
    TAKT_TRY(takt_options_read(m->ctx, "takt_plan_options", options, &o, sizeof o));
    takt_text_init(&key, m->ctx);
    takt_status status = write_key(m, &o, &key);
    if (status == TAKT_OK) {
        takt_cache_lock(m->ctx);
        *plan = find(m->ctx, takt_text_get(&key));
        takt_cache_unlock(m->ctx);
    }
    if (status == TAKT_OK && *plan == NULL && o.static_shapes) {
        takt_text_deinit(&key);
        return refuse(m, &o);
    }
    if (status == TAKT_OK && *plan == NULL) {
        status = takt_plan_create(m, &o, plan);
        if (status == TAKT_OK)
            status = keep(m->ctx, takt_text_get(&key), plan);
        if (status != TAKT_OK) {
            takt_plan_release_internal(*plan);
            *plan = NULL;
        }
    }
    takt_text_deinit(&key);
    return status;
}

uint64_t takt_ctx_trim(takt_ctx *ctx)
{
    if (ctx == NULL)
        return 0;
    const uint64_t before = atomic_load(&ctx->live_bytes);
    bool found = ctx->plans != NULL;
    if (found) {
        takt_eager_trim(ctx);
        takt_pools_trim(ctx);
    }
    while (found) {
        entry old;
        takt_cache_lock(ctx);
        found = take_oldest(ctx->plans, &old);
        takt_cache_unlock(ctx);
        if (found)
            drop(ctx, &old);
    }
    const uint64_t after = atomic_load(&ctx->live_bytes);
    return before > after ? before - after : 0;
}

void takt_plan_cache_destroy(takt_ctx *ctx)
{
    takt_plan_cache *c = ctx->plans;
    if (c == NULL)
        return;
    takt_eager_destroy(ctx);
    for (size_t i = 0; i < c->count; i++)
        drop(ctx, &c->at[i]);
    takt_mem_put(ctx, c, sizeof *c);
    ctx->plans = NULL;
}
