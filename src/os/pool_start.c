/* pool_start.c - starting, binding and ending the workers of a pool. */
#include <errno.h>

#include "os/cpu.h"
#include "os/os.h"
#include "os/pool_parts.h"

enum { DEFAULT_SPIN_NS = 50000 };

int takt_pool_default_threads(void)
{
    takt_cpu_facts f;
    takt_cpu_read(&f);
    return takt_cpu_threads(&f) < TAKT_POOL_MAX ? takt_cpu_threads(&f) : TAKT_POOL_MAX;
}

static void start_workers(takt_pool *pool)
{
    takt_ctx *ctx = pool->ctx;
    for (int i = 0; i < pool->room; i++) {
        takt_worker *w = &pool->worker[i + 1];
        w->pool = pool, w->index = i + 1, w->cpu = w->bound = -1;
        const int error = ctx->threads.start(ctx->threads.user, takt_pool_work, w, &w->handle);
        char reason[64];
        if (error != 0)
            takt_log(ctx, TAKT_LOG_WARNING, "only %d of %d threads could be started: %s", i + 1,
                     pool->room + 1, takt_os_reason(error, reason, sizeof reason));
        if (error != 0)
            return;
        pool->workers = i + 1;
    }
}

static void bind_workers(takt_pool *pool, const takt_pool_options *options)
{
    for (int i = 1; i <= pool->workers && i < options->cpu_count; i++) {
        const int error = options->cpus[i] >= 0 ? takt_pool_bind(pool, i, options->cpus[i]) : 0;
        char reason[64];
        if (error != 0)
            takt_log(pool->ctx, TAKT_LOG_WARNING, "thread %d cannot be bound to processor %d: %s",
                     i, options->cpus[i], takt_os_reason(error, reason, sizeof reason));
    }
}

static uint64_t choose_spin(const takt_pool_options *options, int threads)
{
    if (options->spin_ns != 0)
        return options->spin_ns > 0 ? (uint64_t)options->spin_ns : 0;
    takt_cpu_set usable; /* with more threads than processors, spinning blocks others */
    takt_cpu_usable(&usable);
    return threads <= takt_cpu_set_count(&usable) ? DEFAULT_SPIN_NS : 0;
}

size_t takt_pool_bytes(const takt_ctx *ctx, int threads)
{
    return sizeof(takt_pool) + (size_t)threads * sizeof(takt_worker) +
           (size_t)(threads - 1) * takt_os_thread_bytes(&ctx->threads);
}

takt_status takt_pool_create(takt_ctx *ctx, int threads, const takt_pool_options *options,
                             takt_pool **result)
{
    static const takt_pool_options defaults = {0};
    *result = NULL;
    if (options == NULL)
        options = &defaults;
    if (threads < 0 || threads > TAKT_POOL_MAX)
        return takt_fail(ctx, TAKT_E_ARGUMENT,
                         "a pool of %d threads; between 1 and %d are possible", threads,
                         TAKT_POOL_MAX);
    if (threads == 0)
        threads = takt_pool_default_threads();
    const size_t bytes = sizeof(takt_pool) + (size_t)threads * sizeof(takt_worker);
    void *block;
    TAKT_TRY(takt_mem_zero(ctx, 1, bytes, "a pool of threads", &block));
    takt_pool *pool = block;
    pool->ctx = ctx;
    pool->bytes = bytes;
    pool->room = threads - 1, pool->rest_from = TAKT_POOL_MAX;
    pool->home = -1;
    pool->spin_ns = choose_spin(options, threads);
    if (takt_futex_init(&pool->futex) != 0) {
        takt_mem_put(ctx, pool, bytes);
        return takt_fail_memory(ctx, "a pool's lock", sizeof pool->futex);
    }
    start_workers(pool);
    bind_workers(pool, options);
    *result = pool;
    return TAKT_OK;
}

void takt_pool_destroy(takt_pool *pool)
{
    if (pool == NULL)
        return;
    takt_ctx *ctx = pool->ctx;
    atomic_store(&pool->is_stopping, 1);
    atomic_fetch_add(&pool->epoch, 1);
    takt_futex_wake(&pool->futex, &pool->epoch, TAKT_POOL_MAX);
    takt_pool_recall(pool);
    for (int i = 0; i < pool->workers; i++)
        ctx->threads.join(ctx->threads.user, pool->worker[i + 1].handle);
    takt_futex_deinit(&pool->futex);
    takt_mem_put(ctx, pool, pool->bytes);
}

int takt_pool_bind(takt_pool *pool, int thread, int cpu)
{
    if (pool == NULL || thread < 1 || thread > pool->workers)
        return EINVAL;
    takt_worker *w = &pool->worker[thread];
    while (atomic_load(&w->id) == 0)
        takt_futex_wait(&pool->futex, &w->id, 0);
    const int before = atomic_exchange(&w->bound, cpu);
    const int error = takt_cpu_bind((int)atomic_load(&w->id), cpu);
    if (error != 0)
        atomic_store(&w->bound, before);
    return error;
}
