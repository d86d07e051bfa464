/* pool.h - threads that work on fixed tasks together.
 *
 *     takt_pool *pool;
 *     TAKT_TRY(takt_pool_create(ctx, 0, NULL, &pool));
 *     const bool leased = takt_pool_try_lease(pool);   // false: somebody else is using it
 *     takt_pool_run(leased ? pool : NULL, task, user, count);
 *     if (leased)
 *         takt_pool_release(pool);
 *
 * Nobody ever waits for a pool: a caller that does not get it does its tasks itself. Any thread may
 * do any task, so tasks must not depend on it; the thread's index is for scratch memory. The caller
 * takes part as thread 0. A run waits for no thread that has not begun to take part, so a sleeping
 * worker costs nothing but its wake-up call. */
#ifndef TAKT_OS_POOL_H
#define TAKT_OS_POOL_H

#include <stdbool.h>

#include "base/error.h"
#include "base/inner.h"

typedef struct takt_pool takt_pool;
typedef void takt_task_fn(void *user, size_t task, int thread);

enum { TAKT_POOL_MAX = 512, TAKT_SPIN_NONE = -1 };

typedef struct takt_pool_options {
    int64_t spin_ns; /* how long a worker spins before it sleeps; 0: 50 us, or none if there are
                      * more threads than processors; TAKT_SPIN_NONE: none */
    const int *cpus; /* processor for each thread by index, -1: any; entry 0, the caller's, is not
                      * used; borrowed for the call */
    int cpu_count;
} takt_pool_options;

/* `threads` in total, including the caller; 0: takt_pool_default_threads(). A worker that cannot be
 * started is logged, and the pool is smaller. */
TAKT_INNER TAKT_MUST_USE takt_status takt_pool_create(takt_ctx *ctx, int threads,
                                                      const takt_pool_options *options,
                                                      takt_pool **pool);
/* Accepts NULL. The pool must not be leased. */
TAKT_INNER void takt_pool_destroy(takt_pool *pool);
/* Threads available to a run, including the caller; 1 for NULL. */
int takt_pool_threads(const takt_pool *pool);
/* Bytes that a pool of this many threads allocates. */
size_t takt_pool_bytes(const takt_ctx *ctx, int threads);
/* How often a worker went to sleep after many runs without a task for it. */
uint32_t takt_pool_rests(takt_pool *pool);
/* How often a worker woke up on the caller's processor and went to another. */
uint32_t takt_pool_moves(takt_pool *pool);

bool takt_pool_try_lease(takt_pool *pool); /* false for NULL */
void takt_pool_release(takt_pool *pool);
/* Calls task(user, i, thread) for all i < count, and returns when all are done. The caller holds
 * the lease; with NULL, or with more than 65535 tasks, it does everything itself. Tasks must not
 * use the same pool. */
void takt_pool_run(takt_pool *pool, takt_task_fn *task, void *user, size_t count);
/* Leases the pool if it is free, runs, releases. */
TAKT_INNER void takt_pool_share(takt_pool *pool, takt_task_fn *task, void *user, size_t count);

/* Binds worker `thread` (from 1) to one processor; 0 or a positive errno. */
int takt_pool_bind(takt_pool *pool, int thread, int cpu);
/* One per strong physical core within this process's affinity and quota. */
TAKT_INNER int takt_pool_default_threads(void);

#endif
