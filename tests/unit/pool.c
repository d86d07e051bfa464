/* pool.c - the pool: every task once, busy pools, failing threads, sleep. */
#define _GNU_SOURCE
#include "os/pool.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/ctx.h"
#include "os/cpu.h"
#include "os/os.h"
#include "test.h"
#include "util/inject.h"

enum { TASKS = 64, RUNS = TEST_SANITIZED ? 20000 : 100000 };

static takt_ctx *ctx;

static void begin(void)
{
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
}

typedef struct job {
    unsigned done[TASKS]; /* plain: each is written by one task, and read after the run */
    _Atomic int threads_seen[8];
} job;

static void count_task(void *user, size_t task, int thread)
{
    job *j = user;
    j->done[task]++;
    if (thread >= 0 && thread < 8)
        atomic_store_explicit(&j->threads_seen[thread], 1, memory_order_relaxed);
}

static void each_task_once(void)
{
    for (int threads = 1; threads <= 4; threads++) {
        takt_pool *pool;
        job j = {.done = {0}};
        unsigned runs[TASKS] = {0};
        EXPECT_OK(ctx, takt_pool_create(ctx, threads, NULL, &pool));
        EXPECT_EQ(takt_pool_threads(pool), threads);
        EXPECT(takt_pool_try_lease(pool));
        for (unsigned i = 0; i < RUNS / 4; i++) {
            const size_t count = i % (TASKS + 1);
            takt_pool_run(pool, count_task, &j, count);
            for (size_t t = 0; t < count; t++)
                runs[t]++;
            if (i % 64 == 0)
                EXPECT(memcmp(runs, j.done, sizeof runs) == 0, "%d threads, run %u", threads, i);
        }
        EXPECT(memcmp(runs, j.done, sizeof runs) == 0, "%d threads", threads);
        for (int t = threads; t < 8; t++)
            EXPECT(j.threads_seen[t] == 0, "thread %d of %d", t, threads);
        takt_pool_release(pool);
        takt_pool_destroy(pool);
        EXPECT_EQ(ctx->live_bytes, 0);
    }
}

static void short_runs(void)
{
    static const int64_t spins[] = {0, TAKT_SPIN_NONE, 1000};
    for (size_t s = 0; s < 3; s++) {
        takt_pool *pool;
        job j = {.done = {0}};
        const takt_pool_options options = {.spin_ns = spins[s]};
        EXPECT_OK(ctx, takt_pool_create(ctx, 2, &options, &pool));
        EXPECT(takt_pool_try_lease(pool));
        const unsigned runs = s == 0 ? RUNS : RUNS / 10;
        for (unsigned i = 0; i < runs; i++)
            takt_pool_run(pool, count_task, &j, 2);
        EXPECT(j.done[0] == runs && j.done[1] == runs, "spin %lld", (long long)spins[s]);
        takt_pool_release(pool);
        takt_pool_destroy(pool);
    }
}

/* Tasks that wait for each other: they finish only if each has its own thread. Gives up after ten
 * seconds. */
typedef struct meeting {
    _Atomic int present;
    int wanted;
    _Atomic bool missed;
} meeting;

static void meet(void *user, size_t task, int thread)
{
    meeting *m = user;
    (void)task, (void)thread;
    atomic_fetch_add(&m->present, 1);
    for (int i = 0; i < 200000 && atomic_load(&m->present) < m->wanted; i++)
        usleep(50);
    if (atomic_load(&m->present) < m->wanted)
        m->missed = true;
}

static void expect_to_meet(takt_pool *pool, int wanted)
{
    meeting m = {.wanted = wanted};
    takt_pool_run(pool, meet, &m, (size_t)wanted);
    EXPECT(!m.missed && m.present == wanted, "%d tasks", wanted);
}

/* Fewer tasks than threads, all asleep: the thread that wakes runs them, whether its own or not. */
static void few_tasks_for_sleepers(void)
{
    enum { THREADS = 8 };
    takt_pool *pool;
    const takt_pool_options options = {.spin_ns = TAKT_SPIN_NONE};
    EXPECT_OK(ctx, takt_pool_create(ctx, THREADS, &options, &pool));
    EXPECT(takt_pool_try_lease(pool));
    for (int wanted = 2; wanted <= THREADS; wanted++)
        for (int i = 0; i < 5; i++) {
            usleep(1000);
            expect_to_meet(pool, wanted);
        }
    takt_pool_release(pool);
    takt_pool_destroy(pool);
}

/* Runs of two tasks until a worker rests. A worker counts the runs that it sees, which may be few
 * on a busy machine. */
static void run_until_rest(takt_pool *pool, job *j)
{
    const uint32_t before = takt_pool_rests(pool);
    const uint64_t start = takt_os_now_ns(NULL);
    const uint64_t patience = 60000000000;
    while (takt_pool_rests(pool) == before && takt_os_now_ns(NULL) - start < patience)
        takt_pool_run(pool, count_task, j, 2);
    EXPECT(takt_pool_rests(pool) > before, "nobody rests");
}

/* A worker without a task in thousands of runs rests, and returns for a run that has one for it. */
static void resting(void)
{
    enum { THREADS = 5 };
    static const int64_t spins[] = {100000, TAKT_SPIN_NONE};
    for (size_t s = 0; s < 2; s++) {
        takt_pool *pool;
        job j = {.done = {0}};
        const takt_pool_options options = {.spin_ns = spins[s]};
        EXPECT_OK(ctx, takt_pool_create(ctx, THREADS, &options, &pool));
        EXPECT(takt_pool_try_lease(pool));
        for (int wanted = 3; wanted <= THREADS; wanted++) {
            run_until_rest(pool, &j);
            expect_to_meet(pool, wanted);
        }
        EXPECT(j.done[0] == j.done[1], "%u and %u", j.done[0], j.done[1]);
        takt_pool_release(pool);
        takt_pool_destroy(pool); /* some workers rest, some do not */
    }
}

static void without_a_pool(void)
{
    job j = {.done = {0}};
    takt_pool_run(NULL, count_task, &j, TASKS);
    takt_pool_share(NULL, count_task, &j, TASKS);
    EXPECT(j.done[0] == 2 && j.done[TASKS - 1] == 2 && !takt_pool_try_lease(NULL));
    EXPECT_EQ(takt_pool_threads(NULL), 1);
    takt_pool_destroy(NULL);
}

static void cycles(void)
{
    for (int i = 0; i < 500; i++) {
        takt_pool *pool;
        job j = {.done = {0}};
        EXPECT_OK(ctx, takt_pool_create(ctx, 1 + i % 4, NULL, &pool));
        if (i % 3 != 0)
            takt_pool_share(pool, count_task, &j, TASKS);
        takt_pool_destroy(pool); /* also before a worker has woken for the first time */
        EXPECT_EQ(j.done[0], (i % 3 != 0));
        EXPECT_EQ(ctx->live_bytes, 0);
    }
}

static void lease(void)
{
    takt_pool *pool;
    job j = {.done = {0}};
    EXPECT_OK(ctx, takt_pool_create(ctx, 2, NULL, &pool));
    EXPECT(takt_pool_try_lease(pool) && !takt_pool_try_lease(pool));
    takt_pool_share(pool, count_task, &j, TASKS);
    EXPECT(j.done[0] == 1 && j.threads_seen[0] == 1 && j.threads_seen[1] == 0,
           "a busy pool leaves all to the caller");
    takt_pool_release(pool);
    EXPECT(takt_pool_try_lease(pool));
    takt_pool_release(pool);
    takt_pool_destroy(pool);
}

static void *second_user(void *arg)
{
    job j = {.done = {0}};
    for (int i = 0; i < RUNS / 20; i++)
        takt_pool_share(arg, count_task, &j, 8);
    EXPECT_EQ(j.done[0], RUNS / 20);
    EXPECT_EQ(j.done[7], RUNS / 20);
    return NULL;
}

static void two_users(void)
{
    takt_pool *pool;
    pthread_t other;
    EXPECT_OK(ctx, takt_pool_create(ctx, 3, NULL, &pool));
    EXPECT_EQ(pthread_create(&other, NULL, second_user, pool), 0);
    second_user(pool);
    pthread_join(other, NULL);
    takt_pool_destroy(pool);
}

static int warnings;
static void count_warning(void *user, takt_log_level level, const char *line)
{
    (void)user;
    warnings += level == TAKT_LOG_WARNING && strstr(line, "thread") != NULL;
}

/* A thread that cannot be started is done without: a pool of 4 then has k threads. */
static void thread_fails(takt_inject_mode mode, int k)
{
    takt_inject inject;
    takt_config config = {.log = count_warning};
    takt_ctx *c;
    takt_pool *pool;
    job j = {.done = {0}};
    warnings = 0;
    takt_inject_init(&inject);
    takt_inject_config(&inject, &config);
    EXPECT_OK(NULL, takt_ctx_create(&config, &c));
    takt_inject_plan(&inject, mode, TAKT_INJECT_THREADS, (uint64_t)k);
    EXPECT_OK(c, takt_pool_create(c, 4, NULL, &pool));
    EXPECT(takt_pool_threads(pool) == k && warnings == 1, "k = %d", k);
    takt_pool_share(pool, count_task, &j, TASKS);
    EXPECT_EQ(j.done[TASKS - 1], 1);
    takt_pool_destroy(pool);
    takt_ctx_destroy(c);
    EXPECT_EQ(inject.live_threads, 0);
    EXPECT_EQ(takt_inject_deinit(&inject), 0);
}

static void threads_fail(void)
{
    for (int k = 1; k <= 3; k++) {
        thread_fails(TAKT_INJECT_ONCE, k);
        thread_fails(TAKT_INJECT_EVER, k);
    }
}

static takt_status scenario(takt_inject *inject, void *user)
{
    takt_config config = {0};
    takt_ctx *c;
    takt_pool *pool;
    job j = {.done = {0}};
    (void)user;
    takt_inject_config(inject, &config);
    takt_status status = takt_ctx_create(&config, &c);
    if (status != TAKT_OK)
        return status;
    status = takt_pool_create(c, 3, NULL, &pool);
    if (status == TAKT_OK) {
        takt_pool_share(pool, count_task, &j, TASKS);
        EXPECT_EQ(j.done[0], 1);
        EXPECT_EQ(j.done[TASKS - 1], 1);
    }
    takt_pool_destroy(pool);
    takt_ctx_destroy(c);
    return status;
}

static void sweeps(void)
{
    const takt_sweep_report r =
        takt_sweep(scenario, NULL, TAKT_INJECT_MEMORY | TAKT_INJECT_THREADS);
    EXPECT(r.is_good && r.survived > 0, "%s", r.message);
}

static uint64_t cpu_time_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Soon after a run, less than 0.1 % of one processor: at once, or on a loaded machine once every
 * worker has been scheduled; a pool that polls never gets there. */
static void idle(void)
{
    takt_pool *pool;
    job j = {.done = {0}};
    EXPECT_OK(ctx, takt_pool_create(ctx, 4, NULL, &pool));
    for (int i = 0; i < 100; i++)
        takt_pool_share(pool, count_task, &j, TASKS);
    const struct timespec ten_ms = {.tv_nsec = 10000000}, while_asleep = {.tv_nsec = 400000000};
    nanosleep(&ten_ms, NULL);
    uint64_t used = UINT64_MAX;
    for (int i = 0; i < 30 && used >= 400000; i++) {
        const uint64_t start = cpu_time_ns();
        nanosleep(&while_asleep, NULL);
        used = cpu_time_ns() - start;
    }
    EXPECT(used < 400000 || TEST_SANITIZED, "%llu ns of 400 ms", (unsigned long long)used);
    takt_pool_destroy(pool);
}

static void bad_arguments(void)
{
    takt_pool *pool;
    EXPECT_STATUS(ctx, takt_pool_create(ctx, -1, NULL, &pool), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(ctx, takt_pool_create(ctx, TAKT_POOL_MAX + 1, NULL, &pool), TAKT_ERR_ARGUMENT);
    EXPECT_SAME(pool, NULL);
    EXPECT_IS(takt_pool_default_threads(), >=, 1);
    EXPECT_OK(ctx, takt_pool_create(ctx, 0, NULL, &pool));
    EXPECT_EQ(takt_pool_threads(pool), takt_pool_default_threads());
    takt_pool_destroy(pool);
}

static void where_am_i(void *user, size_t task, int thread)
{
    (void)task;
    int *at = user;
    if (thread == 1)
        at[0] = sched_getcpu();
    else
        usleep(2000); /* so that the worker gets its share */
}

static void binds(void)
{
    takt_cpu_set usable;
    takt_pool *pool;
    takt_cpu_usable(&usable);
    int last = 0;
    for (int cpu = 0; cpu < TAKT_CPU_MAX; cpu++)
        last = takt_cpu_set_has(&usable, cpu) ? cpu : last;
    const int cpus[] = {-1, last};
    const takt_pool_options options = {.cpus = cpus, .cpu_count = 2};
    EXPECT_OK(ctx, takt_pool_create(ctx, 2, &options, &pool));
    int at = -1;
    for (int i = 0; i < 3000 && at < 0; i++) /* until the worker has had its turn: a minute */
        takt_pool_share(pool, where_am_i, &at, 8);
    EXPECT(at == last, "on %d, expected %d", at, last);
    EXPECT_EQ(takt_pool_bind(pool, 0, last), EINVAL);
    EXPECT_EQ(takt_pool_bind(pool, 2, last), EINVAL);
    EXPECT_EQ(takt_pool_bind(pool, 1, 1023), EINVAL);
    EXPECT_EQ(takt_pool_bind(pool, 1, -1), EINVAL);
    takt_pool_destroy(pool);

    const takt_config config = {.log = count_warning};
    const int absurd[] = {-1, 1023};
    const takt_pool_options wrong = {.cpus = absurd, .cpu_count = 2};
    takt_ctx *c;
    warnings = 0;
    EXPECT_OK(NULL, takt_ctx_create(&config, &c));
    EXPECT_OK(c, takt_pool_create(c, 2, &wrong, &pool));
    EXPECT(warnings == 1 && takt_pool_threads(pool) == 2,
           "a refused binding is reported, and no more");
    takt_pool_destroy(pool);
    takt_ctx_destroy(c);
}

/* The smallest denormal survives a multiplication by one only if denormals are kept. */
static void fp_task(void *user, size_t task, int thread)
{
    volatile float smallest = 0x1p-149f, one = 1, third = 1.0f / 3;
    _Atomic int *bad = user;
    (void)task;
    (void)thread;
    if (smallest * one != 0x1p-149f || one + 0x1p-24f != 1.0f || third * 3 != 1.0f)
        atomic_fetch_add(bad, 1);
    usleep(500);
}

static void fp_state(void)
{
    takt_pool *pool;
    _Atomic int bad = 0;
    EXPECT_OK(ctx, takt_pool_create(ctx, 4, NULL, &pool));
    takt_pool_share(pool, fp_task, &bad, 16);
    EXPECT_EQ(bad, 0);
    takt_pool_destroy(pool);
}

static void end(void)
{
    EXPECT_EQ(ctx->live_bytes, 0);
    takt_ctx_destroy(ctx);
}

TEST_MAIN(begin, each_task_once, short_runs, few_tasks_for_sleepers, resting, without_a_pool,
          cycles, lease, two_users, threads_fail, sweeps, idle, bad_arguments, binds, fp_state, end)
