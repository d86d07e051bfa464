/* pool.c - workers around two words.
 *
 * `epoch` counts the runs; workers that have nothing to do sleep on it. `gate` says whether a run
 * may be joined (OPEN) and how many workers have joined. A worker joins by raising the count while
 * the gate is open, and only then looks at the job; the caller shuts the gate when no task is left
 * and waits for the count to fall to zero. So the job cannot change under a worker, and a worker
 * that comes late finds the gate shut and is missed by nobody.
 *
 * No wake-up is lost: a worker announces itself in `sleepers` before it compares `epoch`, the
 * caller raises `epoch` before he looks at `sleepers`, all in one total order.
 */
#include "os/pool.h"

#include <errno.h>
#include <stdatomic.h>

#include "base/mem.h"
#include "os/cpu.h"
#include "os/doze.h"
#include "os/fp.h"
#include "os/os.h"

#define OPEN 0x80000000u
#define WAITING 0x40000000u /* the caller sleeps until the last worker has left */
#define COUNT 0x3FFFFFFFu

enum { DEFAULT_SPIN_NS = 50000, PAUSES = 32 };

typedef struct worker {
    _Alignas(TAKT_ALIGN) takt_pool *pool;
    void *handle;
    int index;
    _Atomic uint32_t id; /* the system's number of the thread, 0 until it runs */
} worker;

struct takt_pool {
    _Alignas(TAKT_ALIGN) _Atomic uint32_t epoch;
    _Atomic uint32_t sleepers;
    _Atomic uint32_t is_leased, is_stopping;
    _Alignas(TAKT_ALIGN) _Atomic uint32_t gate;
    _Alignas(TAKT_ALIGN) _Atomic size_t next; /* task to be taken */

    _Alignas(TAKT_ALIGN) takt_task_fn *task;
    void *user;
    size_t count;

    takt_ctx *ctx;
    takt_doze doze;
    uint64_t spin_ns;
    int workers, room;
    size_t bytes;
    worker worker[];
};

static void pause_a_little(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb");
#endif
}

/* Waits a bounded time for `*word` to differ from `value`; true if it does. */
static bool spin(const takt_pool *pool, _Atomic uint32_t *word, uint32_t value)
{
    if (atomic_load(word) != value)
        return true;
    if (pool->spin_ns == 0)
        return false;
    const uint64_t start = takt_os_now_ns(NULL);
    do {
        for (int i = 0; i < PAUSES; i++) {
            pause_a_little();
            if (atomic_load(word) != value)
                return true;
        }
    } while (takt_os_now_ns(NULL) - start < pool->spin_ns);
    return false;
}

static void do_tasks(takt_pool *pool, int thread)
{
    takt_task_fn *task = pool->task;
    void *user = pool->user;
    const size_t count = pool->count;
    for (size_t i; (i = atomic_fetch_add(&pool->next, 1)) < count;)
        task(user, i, thread);
}

static void join_run(takt_pool *pool, int thread)
{
    uint32_t gate = atomic_load(&pool->gate);
    do {
        if ((gate & OPEN) == 0)
            return;
    } while (!atomic_compare_exchange_weak(&pool->gate, &gate, gate + 1));
    do_tasks(pool, thread);
    const uint32_t before = atomic_fetch_sub(&pool->gate, 1);
    if (before == (WAITING | 1))
        takt_doze_wake(&pool->doze, &pool->gate, 1);
}

static void sleep_until(takt_pool *pool, uint32_t seen)
{
    atomic_fetch_add(&pool->sleepers, 1);
    while (atomic_load(&pool->epoch) == seen)
        takt_doze_wait(&pool->doze, &pool->epoch, seen);
    atomic_fetch_sub(&pool->sleepers, 1);
}

static void work(void *arg)
{
    worker *self = arg;
    takt_pool *pool = self->pool;
    takt_fp_enter();
    atomic_store(&self->id, (uint32_t)takt_cpu_thread_id());
    takt_doze_wake(&pool->doze, &self->id, 1);
    uint32_t seen = 0; /* before any run: one that was opened meanwhile is seen as new */
    while (atomic_load(&pool->is_stopping) == 0) {
        if (!spin(pool, &pool->epoch, seen))
            sleep_until(pool, seen);
        seen = atomic_load(&pool->epoch);
        join_run(pool, self->index);
    }
}

/* Sleeps until the last worker that joined has left; WAITING is set. */
static void sleep_until_left(takt_pool *pool)
{
    for (uint32_t gate; ((gate = atomic_load(&pool->gate)) & COUNT) != 0;)
        takt_doze_wait(&pool->doze, &pool->gate, gate);
    atomic_store(&pool->gate, 0);
}

/* Shuts the gate and waits for those who passed it. */
static void finish_run(takt_pool *pool)
{
    uint32_t gate = atomic_fetch_and(&pool->gate, ~OPEN) & ~OPEN;
    while (gate != 0) {
        if (!spin(pool, &pool->gate, gate) &&
            atomic_compare_exchange_strong(&pool->gate, &gate, gate | WAITING)) {
            sleep_until_left(pool);
            return;
        }
        gate = atomic_load(&pool->gate);
    }
}

static void run_alone(takt_task_fn *task, void *user, size_t count)
{
    for (size_t i = 0; i < count; i++)
        task(user, i, 0);
}

void takt_pool_run(takt_pool *pool, takt_task_fn *task, void *user, size_t count)
{
    if (pool == NULL || pool->workers == 0 || count <= 1) {
        run_alone(task, user, count);
        return;
    }
    pool->task = task;
    pool->user = user;
    pool->count = count;
    atomic_store(&pool->next, 0);
    atomic_store(&pool->gate, OPEN);
    atomic_fetch_add(&pool->epoch, 1);
    if (atomic_load(&pool->sleepers) > 0) {
        const size_t wanted = count - 1;
        const int workers = pool->workers;
        takt_doze_wake(&pool->doze, &pool->epoch, wanted < (size_t)workers ? (int)wanted : workers);
    }
    do_tasks(pool, 0);
    finish_run(pool);
}

bool takt_pool_try_lease(takt_pool *pool)
{
    uint32_t free_state = 0;
    return pool != NULL && atomic_compare_exchange_strong(&pool->is_leased, &free_state, 1);
}

void takt_pool_release(takt_pool *pool)
{
    atomic_store(&pool->is_leased, 0);
}

void takt_pool_share(takt_pool *pool, takt_task_fn *task, void *user, size_t count)
{
    const bool leased = takt_pool_try_lease(pool);
    takt_pool_run(leased ? pool : NULL, task, user, count);
    if (leased)
        takt_pool_release(pool);
}

int takt_pool_threads(const takt_pool *pool)
{
    return pool != NULL ? pool->workers + 1 : 1;
}

int takt_pool_default_threads(void)
{
    takt_cpu_facts facts;
    takt_cpu_read(&facts);
    const int threads = takt_cpu_threads(&facts);
    return threads < TAKT_POOL_MAX ? threads : TAKT_POOL_MAX;
}

static void start_workers(takt_pool *pool)
{
    takt_ctx *ctx = pool->ctx;
    for (int i = 0; i < pool->room; i++) {
        worker *w = &pool->worker[i];
        w->pool = pool;
        w->index = i + 1;
        const int error = ctx->threads.start(ctx->threads.user, work, w, &w->handle);
        if (error != 0) {
            char reason[64];
            takt_log(ctx, TAKT_LOG_WARNING, "only %d of %d threads could be started: %s", i + 1,
                     pool->room + 1, takt_os_reason(error, reason, sizeof reason));
            return;
        }
        pool->workers = w->index;
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
    takt_cpu_set usable;
    int processors = 0;
    takt_cpu_usable(&usable);
    for (int cpu = 0; cpu < TAKT_CPU_MAX; cpu++)
        processors += takt_cpu_set_has(&usable, cpu);
    return threads <= processors ? DEFAULT_SPIN_NS : 0; /* else who spins is in somebody's way */
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
    const size_t bytes = sizeof(takt_pool) + (size_t)(threads - 1) * sizeof(worker);
    void *block;
    TAKT_TRY(takt_mem_zero(ctx, 1, bytes, "a pool of threads", &block));
    takt_pool *pool = block;
    pool->ctx = ctx;
    pool->bytes = bytes;
    pool->room = threads - 1;
    pool->spin_ns = choose_spin(options, threads);
    if (takt_doze_init(&pool->doze) != 0) {
        takt_mem_put(ctx, pool, bytes);
        return takt_fail_memory(ctx, "a pool's lock", sizeof pool->doze);
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
    takt_doze_wake(&pool->doze, &pool->epoch, TAKT_POOL_MAX);
    for (int i = 0; i < pool->workers; i++)
        ctx->threads.join(ctx->threads.user, pool->worker[i].handle);
    takt_doze_deinit(&pool->doze);
    takt_mem_put(ctx, pool, pool->bytes);
}

int takt_pool_bind(takt_pool *pool, int thread, int cpu)
{
    if (pool == NULL || thread < 1 || thread > pool->workers)
        return EINVAL;
    worker *w = &pool->worker[thread - 1];
    while (atomic_load(&w->id) == 0)
        takt_doze_wait(&pool->doze, &w->id, 0);
    return takt_cpu_bind((int)atomic_load(&w->id), cpu);
}
