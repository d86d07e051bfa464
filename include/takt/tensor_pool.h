/**
 * tensor_pool.h - tensors that are reused instead of freed.
 *
 *     takt_tensor_view x;
 *     takt_tensor_pool_acquire(pool, TAKT_F32, 2, (int64_t[]){32, 784}, &x);
 *     ...
 *     takt_tensor_pool_release(pool, &x);
 *
 * Tensors are kept by element type and shape. A pool may be used by several threads at once.
 */
#ifndef TAKT_TENSOR_POOL_H
#define TAKT_TENSOR_POOL_H

#include <takt/ctx.h>
#include <takt/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct takt_tensor_pool takt_tensor_pool;

typedef struct takt_tensor_pool_info {
    uint64_t hits, misses; /**< acquisitions served from the pool, and by a new allocation */
    uint64_t idle_bytes;   /**< of idle tensors in the pool */
    uint64_t lent_bytes;   /**< of tensors held by the caller */
} takt_tensor_pool_info;

/** At most `limit` bytes stay idle in the pool; beyond that the oldest are freed first.
 *
 *  @return TAKT_ERR_MEMORY: `*pool` is then NULL */
TAKT_API TAKT_MUST_USE takt_status takt_tensor_pool_create(takt_ctx *ctx, uint64_t limit,
                                                           takt_tensor_pool **pool);
/** Accepts NULL. All tensors must have been released. */
TAKT_API void takt_tensor_pool_destroy(takt_tensor_pool *pool);
/** A dense tensor, 64-byte aligned, uninitialised. On failure `view->data` is NULL. */
TAKT_API TAKT_MUST_USE takt_status takt_tensor_pool_acquire(takt_tensor_pool *pool,
                                                            takt_dtype dtype, int rank,
                                                            const int64_t *dims,
                                                            takt_tensor_view *view);
/** Returns a tensor to the pool; `view->data` becomes NULL. A view without data is ignored. */
TAKT_API void takt_tensor_pool_release(takt_tensor_pool *pool, takt_tensor_view *view);
/** Frees the idle tensors and returns their bytes. takt_ctx_trim does this for every pool. */
TAKT_API uint64_t takt_tensor_pool_clear(takt_tensor_pool *pool);
/** Fills `*info`. */
TAKT_API void takt_tensor_pool_query(const takt_tensor_pool *pool, takt_tensor_pool_info *info);

#ifdef __cplusplus
}
#endif
#endif
