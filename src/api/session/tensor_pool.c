/* tensor_pool.c - idle tensors for reuse, each preceded by a header that describes it. */
#include <takt/tensor_pool.h>

#include <string.h>

#include "api/cache.h"
#include "base/mem.h"
#include "base/size.h"
#include "ir/type.h"

typedef struct block {
    struct block *older, *newer; /* among the idle ones */
    size_t bytes;                /* of the data */
    takt_type type;
} block;

enum { HEADER = (sizeof(block) + TAKT_ALIGN - 1) / TAKT_ALIGN * TAKT_ALIGN };

struct takt_tensor_pool {
    takt_ctx *ctx;
    takt_tensor_pool *next; /* of the context's pools */
    uint64_t limit;
    block *newest, *oldest;
    takt_tensor_pool_info info;
};

/* ---- the list; the lock is held ---- */

static void unlink_block(takt_tensor_pool *p, block *b)
{
    *(b->newer != NULL ? &b->newer->older : &p->newest) = b->older;
    *(b->older != NULL ? &b->older->newer : &p->oldest) = b->newer;
    p->info.idle_bytes -= b->bytes;
}

static void link_block(takt_tensor_pool *p, block *b)
{
    b->newer = NULL;
    b->older = p->newest;
    *(p->newest != NULL ? &p->newest->newer : &p->oldest) = b;
    p->newest = b;
    p->info.idle_bytes += b->bytes;
}

static bool is_same(const takt_type *a, const takt_type *b)
{
    return a->dtype == b->dtype && a->rank == b->rank &&
           memcmp(a->dim, b->dim, (size_t)a->rank * sizeof *a->dim) == 0;
}

static block *take(takt_tensor_pool *p, const takt_type *type)
{
    for (block *b = p->newest; b != NULL; b = b->older)
        if (is_same(&b->type, type)) {
            unlink_block(p, b);
            return b;
        }
    return NULL;
}

/* ---- blocks ---- */

static void free_block(takt_ctx *ctx, block *b)
{
    takt_mem_put(ctx, b, HEADER + b->bytes);
}

/* Frees the oldest until at most `limit` idle bytes remain; returns the bytes. */
static uint64_t shrink(takt_tensor_pool *p, uint64_t limit)
{
    uint64_t freed = 0;
    for (;;) {
        takt_cache_lock(p->ctx);
        block *b = p->info.idle_bytes > limit || limit == 0 ? p->oldest : NULL;
        if (b != NULL)
            unlink_block(p, b);
        takt_cache_unlock(p->ctx);
        if (b == NULL)
            return freed;
        freed += HEADER + b->bytes;
        free_block(p->ctx, b);
    }
}

/* ---- use ---- */

takt_status takt_tensor_pool_create(takt_ctx *ctx, uint64_t limit, takt_tensor_pool **pool)
{
    TAKT_NEED(NULL, ctx);
    TAKT_NEED(ctx, pool);
    void *made;
    *pool = NULL;
    TAKT_TRY(takt_cache_begin(ctx));
    TAKT_TRY(takt_mem_zero(ctx, 1, sizeof **pool, "tensor pool", &made));
    takt_tensor_pool *p = made;
    p->ctx = ctx;
    p->limit = limit;
    takt_cache_lock(ctx);
    p->next = *takt_cache_pools(ctx);
    *takt_cache_pools(ctx) = p;
    takt_cache_unlock(ctx);
    *pool = p;
    return TAKT_OK;
}

void takt_tensor_pool_destroy(takt_tensor_pool *p)
{
    if (p == NULL)
        return;
    takt_cache_lock(p->ctx);
    takt_tensor_pool **at = takt_cache_pools(p->ctx);
    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
    takt_cache_unlock(p->ctx);
    shrink(p, 0);
    takt_mem_put(p->ctx, p, sizeof *p);
}

static takt_status make(takt_tensor_pool *p, const takt_type *type, size_t bytes, block **out)
{
    size_t size;
    void *made;
    if (!takt_size_add(bytes, HEADER, &size))
        return takt_fail(p->ctx, TAKT_E_OVERFLOW, "a tensor of %zu bytes is too large", bytes);
    TAKT_TRY(takt_mem_get(p->ctx, size, "a tensor", &made));
    *out = made;
    **out = (block){.bytes = bytes, .type = *type};
    return TAKT_OK;
}

takt_status takt_tensor_pool_acquire(takt_tensor_pool *p, takt_dtype dtype, int rank,
                                     const int64_t *dims, takt_tensor_view *view)
{
    TAKT_NEED(NULL, p);
    takt_type type = {.dtype = dtype, .rank = rank};
    size_t bytes;
    view->data = NULL;
    bool good = (unsigned)dtype < TAKT_DTYPE_COUNT && rank >= 0 && rank <= TAKT_MAX_RANK;
    for (int d = 0; good && d < rank; d++) {
        type.dim[d] = dims[d];
        good = dims[d] >= 0;
    }
    if (!good || !takt_type_bytes(&type, &bytes))
        return takt_fail(p->ctx, TAKT_E_ARGUMENT,
                         "takt_tensor_pool_acquire: no such tensor can be");
    takt_cache_lock(p->ctx);
    block *b = take(p, &type);
    takt_cache_unlock(p->ctx);
    const bool is_hit = b != NULL;
    if (!is_hit)
        TAKT_TRY(make(p, &type, bytes, &b));
    takt_cache_lock(p->ctx);
    *(is_hit ? &p->info.hits : &p->info.misses) += 1;
    p->info.lent_bytes += bytes;
    takt_cache_unlock(p->ctx);
    *view = (takt_tensor_view){.dtype = dtype, .rank = rank, .data = (char *)b + HEADER};
    for (int d = 0; d < rank; d++)
        view->dims[d] = dims[d];
    return TAKT_OK;
}

void takt_tensor_pool_release(takt_tensor_pool *p, takt_tensor_view *view)
{
    if (view->data == NULL)
        return;
    block *b = (block *)((char *)view->data - HEADER);
    view->data = NULL;
    takt_cache_lock(p->ctx);
    p->info.lent_bytes -= b->bytes;
    link_block(p, b);
    takt_cache_unlock(p->ctx);
    shrink(p, p->limit);
}

uint64_t takt_tensor_pool_clear(takt_tensor_pool *p)
{
    if (p == NULL)
        return 0;
    return shrink(p, 0);
}

void takt_tensor_pool_query(const takt_tensor_pool *p, takt_tensor_pool_info *info)
{
    if (p == NULL)
        return;
    takt_cache_lock(p->ctx);
    *info = p->info;
    takt_cache_unlock(p->ctx);
}

void takt_pools_trim(takt_ctx *ctx)
{
    for (;;) {
        block *b = NULL;
        takt_cache_lock(ctx);
        for (takt_tensor_pool *p = *takt_cache_pools(ctx); p != NULL && b == NULL; p = p->next)
            if ((b = p->oldest) != NULL)
                unlink_block(p, b);
        takt_cache_unlock(ctx);
        if (b == NULL)
            return;
        free_block(ctx, b);
    }
}
