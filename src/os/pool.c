/* pool.c - workers around one shared word, and two words of each worker.
 *
 * A run has a number. The caller writes the job and `call`, the run's number and its task count,
 * and then raises `epoch`, which workers watch and sleep on. Each thread owns a share of the tasks
 * and takes from it by `left` in its own cache line, so that threads do not contend while all are
 * busy. A thread that has finished its share takes tasks from the others, and so does the caller:
 * the share of a sleeping worker is done without it. Each thread counts its finished tasks in
 * `finished`, and the caller adds these up.
 *
 * The job cannot change under a worker: `left` carries the run's number, so a task can be taken
 * only from the run whose `call` was read, and a run with a taken but unfinished task is not over.
 * A `left` of an older run means a whole share; of a newer one, that the worker came too late.
 *
 * No wake-up is lost: a worker announces itself in `sleepers` before it compares `epoch`, the
 * caller raises `epoch` before it reads `sleepers`, all in one total order; likewise `waiting` and
 * `finished`.
 *
 * Runs of few tasks belong to the first workers, and to those woken for them. A worker without a
 * task in many runs goes to rest: it neither polls `epoch`, which would slow down the others' view
 * of it, nor is among the sleepers. A run with a task for the first resting worker recalls all;
 * `rest_from` announces them as `sleepers` does others. */
#include "os/pool.h"

#include "os/cpu.h"
#include "os/fp.h"
#include "os/futex.h"
#include "os/os.h"
#include "os/pool_parts.h"

enum { PAUSES = 32 };
enum { REST_AFTER = 1000 }; /* runs: coming back costs some hundred times what one run saves */
/* Words hold run << LOW_BITS | number of tasks. */
enum { LOW_BITS = 16, LOW = (1 << LOW_BITS) - 1 };

typedef struct job {
    takt_task_fn *task;
    void *user;
    uint64_t run;
    size_t count;
} job;

typedef bool happened_fn(takt_pool *pool, const job *j, size_t number);

/* Waits a bounded time for `happened`; true if it did. */
static bool spin(takt_pool *pool, happened_fn *happened, const job *j, size_t number)
{
    if (happened(pool, j, number))
        return true;
    if (pool->spin_ns == 0)
        return false;
    const uint64_t start = takt_os_now_ns(NULL);
    do {
        for (int i = 0; i < PAUSES; i++) {
            takt_spin_pause();
            if (happened(pool, j, number))
                return true;
        }
    } while (takt_os_now_ns(NULL) - start < pool->spin_ns);
    return false;
}

static bool is_called(takt_pool *pool, const job *j, size_t seen)
{
    (void)j;
    return atomic_load_explicit(&pool->epoch, memory_order_acquire) != (uint32_t)seen;
}

static job read_job(takt_pool *pool)
{
    const uint64_t call = atomic_load_explicit(&pool->call, memory_order_acquire);
    return (job){.task = atomic_load_explicit(&pool->task, memory_order_relaxed),
                 .user = atomic_load_explicit(&pool->user, memory_order_relaxed),
                 .run = call >> LOW_BITS,
                 .count = call & LOW};
}

/* One task of the owner's share; false if none is left. */
static bool take(takt_worker *owner, const job *j, size_t threads, size_t *task)
{
    const size_t index = (size_t)owner->index, more = j->count % threads;
    const size_t share = j->count / threads + (index < more ? 1 : 0);
    const size_t first = index * (j->count / threads) + (index < more ? index : more);
    uint64_t left = atomic_load_explicit(&owner->left, memory_order_relaxed), rest;
    do {
        if (left >> LOW_BITS > j->run)
            return false;
        rest = left >> LOW_BITS == j->run ? left & LOW : share;
        if (rest == 0)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(&owner->left, &left,
                                                    j->run << LOW_BITS | (rest - 1),
                                                    memory_order_acq_rel, memory_order_relaxed));
    *task = first + share - rest;
    return true;
}

/* The thread's own share, then the rest of the others'. With at most one task per thread, only a
 * thread that `helps` looks for untaken tasks of others: the rest would contend. */
static size_t do_tasks(takt_pool *pool, const job *j, size_t self, bool helps)
{
    const size_t threads = (size_t)pool->workers + 1;
    const size_t reach = helps || j->count > threads ? threads : 1;
    size_t done = 0, task;
    for (size_t k = 0; k < reach; k++) {
        takt_worker *owner = &pool->worker[(self + k) % threads];
        while (take(owner, j, threads, &task)) {
            j->task(j->user, task, (int)self);
            done++;
            atomic_store_explicit(&pool->worker[self].finished, j->run << LOW_BITS | done,
                                  memory_order_release);
        }
    }
    return done;
}

/* False: the run has no task for this thread. A thread that was woken helps: as many are woken as
 * there are tasks, and the owners of the tasks may still be asleep. */
static bool join_run(takt_pool *pool, int thread, bool was_woken)
{
    const job j = read_job(pool);
    if (do_tasks(pool, &j, (size_t)thread, was_woken) > 0) {
        atomic_thread_fence(memory_order_seq_cst);
        if (atomic_load(&pool->waiting) != 0 && atomic_exchange(&pool->waiting, 0) != 0)
            takt_futex_wake(&pool->futex, &pool->waiting, 1);
    }
    return (size_t)thread < j.count;
}

/* The system may wake a worker on the processor of the caller, though another is free. There they
 * would alternate and wait for each other until the system moves one: so the worker moves
 * elsewhere. */
static void keep_apart(takt_pool *pool, takt_worker *self)
{
    const int home = atomic_load_explicit(&pool->home, memory_order_relaxed);
    int here = takt_cpu_here();
    if (here >= 0 && here == home && atomic_load(&self->bound) < 0) {
        takt_cpu_set taken = {{0}};
        takt_cpu_set_add(&taken, here);
        for (int i = 1; i <= pool->workers; i++)
            takt_cpu_set_add(&taken,
                             atomic_load_explicit(&pool->worker[i].cpu, memory_order_relaxed));
        if (takt_cpu_leave(here, &taken))
            atomic_fetch_add_explicit(&pool->moves, 1, memory_order_relaxed);
        const int bound = atomic_load(&self->bound);
        if (bound >= 0) /* meanwhile: that counts */
            (void)takt_cpu_bind(0, bound);
        here = takt_cpu_here();
    }
    atomic_store_explicit(&self->cpu, here, memory_order_relaxed);
}

static void sleep_until(takt_pool *pool, takt_worker *self, uint32_t seen)
{
    atomic_fetch_add(&pool->sleepers, 1);
    while (atomic_load(&pool->epoch) == seen)
        takt_futex_wait(&pool->futex, &pool->epoch, seen);
    atomic_fetch_sub(&pool->sleepers, 1);
    keep_apart(pool, self);
}

/* Sleeps until a run has a task for the first resting worker. */
static void rest(takt_pool *pool, uint32_t seen, uint32_t self)
{
    const uint32_t recalls = atomic_load(&pool->recalls);
    uint32_t first = atomic_load(&pool->rest_from);
    while (self < first && !atomic_compare_exchange_weak(&pool->rest_from, &first, self))
        continue;
    if (atomic_load(&pool->epoch) != seen)
        return;
    atomic_fetch_add(&pool->rests, 1);
    while (atomic_load(&pool->is_stopping) == 0 && atomic_load(&pool->recalls) == recalls)
        takt_futex_wait(&pool->futex, &pool->recalls, recalls);
}

void takt_pool_recall(takt_pool *pool)
{
    atomic_store(&pool->rest_from, TAKT_POOL_MAX); /* first, so that later ones register again */
    atomic_fetch_add(&pool->recalls, 1);
    takt_futex_wake(&pool->futex, &pool->recalls, TAKT_POOL_MAX);
}

void takt_pool_work(void *arg)
{
    takt_worker *self = arg;
    takt_pool *pool = self->pool;
    takt_fp_enter();
    atomic_store(&self->id, (uint32_t)takt_cpu_thread_id());
    takt_futex_wake(&pool->futex, &self->id, 1);
    uint32_t seen = 0; /* before any run: one started meanwhile counts as new */
    int idle = 0;      /* consecutive runs without a task for this thread */
    while (atomic_load(&pool->is_stopping) == 0) {
        const bool sleeps = !spin(pool, is_called, NULL, seen);
        if (sleeps)
            sleep_until(pool, self, seen);
        seen = atomic_load(&pool->epoch);
        idle = join_run(pool, self->index, sleeps) ? 0 : idle + 1;
        if (idle == REST_AFTER) {
            rest(pool, seen, (uint32_t)self->index);
            idle = 0;
        }
    }
}

/* Whether the workers have done all tasks except the caller's `own` tasks. */
static bool is_done(takt_pool *pool, const job *j, size_t own)
{
    size_t done = own;
    for (int i = 1; i <= pool->workers; i++) {
        const uint64_t word = atomic_load_explicit(&pool->worker[i].finished, memory_order_acquire);
        done += word >> LOW_BITS == j->run ? word & LOW : 0;
    }
    return done == j->count;
}

static void finish_run(takt_pool *pool, const job *j, size_t own)
{
    if (spin(pool, is_done, j, own))
        return;
    for (;;) {
        atomic_store(&pool->waiting, 1);
        atomic_thread_fence(memory_order_seq_cst);
        if (is_done(pool, j, own))
            break;
        takt_futex_wait(&pool->futex, &pool->waiting, 1);
    }
    atomic_store(&pool->waiting, 0);
}

static void run_single_threaded(takt_task_fn *task, void *user, size_t count)
{
    for (size_t i = 0; i < count; i++)
        task(user, i, 0);
}

static void run_together(takt_pool *pool, takt_task_fn *task, void *user, size_t count)
{
    const job j = {task, user, (atomic_load(&pool->call) >> LOW_BITS) + 1, count};
    atomic_store_explicit(&pool->task, task, memory_order_relaxed);
    atomic_store_explicit(&pool->user, user, memory_order_relaxed);
    atomic_store_explicit(&pool->call, j.run << LOW_BITS | count, memory_order_release);
    atomic_fetch_add(&pool->epoch, 1);
    if (count > atomic_load(&pool->rest_from))
        takt_pool_recall(pool);
    if (atomic_load(&pool->sleepers) > 0) {
        atomic_store_explicit(&pool->home, takt_cpu_here(), memory_order_relaxed);
        takt_futex_wake(&pool->futex, &pool->epoch, (int)count - 1);
    }
    finish_run(pool, &j, do_tasks(pool, &j, 0, true));
}

void takt_pool_run(takt_pool *pool, takt_task_fn *task, void *user, size_t count)
{
    if (pool == NULL || pool->workers == 0 || count <= 1 || count > LOW)
        run_single_threaded(task, user, count);
    else
        run_together(pool, task, user, count);
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

uint32_t takt_pool_rests(takt_pool *pool)
{
    return atomic_load(&pool->rests);
}

uint32_t takt_pool_moves(takt_pool *pool)
{
    return atomic_load(&pool->moves);
}
