/* pool_apart.c - a worker that wakes up on the caller's processor moves to another; afterwards it
 * has its old affinity mask, and bound threads are not moved. */
#define _GNU_SOURCE
#include "os/pool.h"

#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "base/ctx.h"
#include "os/cpu.h"
#include "test.h"

static takt_ctx *ctx;
static takt_cpu_set usable; /* by this process */
static int first = -1;      /* of them */

static void begin(void)
{
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    takt_cpu_usable(&usable);
    for (int cpu = 0; cpu < TAKT_CPU_MAX && first < 0; cpu++)
        first = takt_cpu_set_has(&usable, cpu) ? cpu : -1;
}

static bool has_all(void)
{
    takt_cpu_set now;
    takt_cpu_usable(&now);
    return memcmp(&now, &usable, sizeof now) == 0;
}

/* Puts the calling thread on the first processor, without binding it. */
static void go_first(void)
{
    if (takt_cpu_bind(0, first) == 0)
        (void)takt_cpu_confine(&usable);
}

static void leaves(void)
{
    takt_cpu_set taken = {{0}};
    takt_cpu_set_add(&taken, first);
    if (takt_cpu_here() < 0 || takt_cpu_set_count(&usable) < 2) {
        EXPECT(!takt_cpu_leave(first, &taken));
        return;
    }
    int seen = first;
    for (int i = 0; i < 100 && seen == first; i++) { /* the system may put it back at once */
        go_first();
        EXPECT(takt_cpu_leave(first, &taken));
        seen = takt_cpu_here();
    }
    EXPECT(seen != first && has_all());
    EXPECT(takt_cpu_leave(seen, &usable), "where all are taken, one that is not its own");
    EXPECT(has_all());
}

/* The thread's own limits are unchanged. */
static void keeps_limits(void)
{
    takt_cpu_set two = {{0}}, now;
    for (int cpu = first; cpu < TAKT_CPU_MAX && takt_cpu_set_count(&two) < 2; cpu++)
        if (takt_cpu_set_has(&usable, cpu))
            takt_cpu_set_add(&two, cpu);
    if (takt_cpu_set_count(&two) < 2 || takt_cpu_confine(&two) != 0)
        return;
    EXPECT(takt_cpu_leave(first, &two));
    takt_cpu_usable(&now);
    EXPECT_EQ(memcmp(&now, &two, sizeof now), 0);
    EXPECT_EQ(takt_cpu_confine(&usable), 0);
}

static void cannot_leave(void)
{
    takt_cpu_set taken = {{0}};
    takt_cpu_set_add(&taken, first);
    if (takt_cpu_bind(0, first) != 0)
        return;
    EXPECT(!takt_cpu_leave(first, &taken) && !takt_cpu_leave(first, &usable));
    EXPECT_EQ(takt_cpu_here(), first);
    EXPECT_EQ(takt_cpu_confine(&usable), 0);
}

typedef struct report {
    _Atomic int tasks, narrowed; /* of the worker; number that found fewer processors */
    bool goes_first;
} report;

static void look(void *user, size_t task, int thread)
{
    report *r = user;
    (void)task;
    if (thread == 0) {
        const struct timespec nap = {.tv_nsec = 20000};
        nanosleep(&nap, NULL); /* so that the worker gets its share */
        return;
    }
    atomic_fetch_add(&r->tasks, 1);
    atomic_fetch_add(&r->narrowed, !has_all());
    if (r->goes_first)
        go_first();
}

/* The worker ends every run on the caller's processor and sleeps there. */
static void stays_free(void)
{
    takt_pool *pool;
    const takt_pool_options options = {.spin_ns = TAKT_SPIN_NONE};
    report r = {.goes_first = true};
    EXPECT_OK(ctx, takt_pool_create(ctx, 2, &options, &pool)); /* the worker may use all */
    if (takt_cpu_bind(0, first) != 0) {
        takt_pool_destroy(pool);
        return;
    }
    for (int i = 0; i < 500; i++)
        takt_pool_share(pool, look, &r, 4);
    EXPECT(r.tasks == 0 || r.narrowed == 0, "%d of %d", r.narrowed, r.tasks);
    EXPECT_EQ(takt_cpu_confine(&usable), 0);
    takt_pool_destroy(pool);
}

static void bound_ones_stay(void)
{
    takt_pool *pool;
    const int cpus[] = {-1, first};
    const takt_pool_options options = {.spin_ns = TAKT_SPIN_NONE, .cpus = cpus, .cpu_count = 2};
    report r = {0};
    if (takt_cpu_bind(0, first) != 0)
        return;
    EXPECT_OK(ctx, takt_pool_create(ctx, 2, &options, &pool));
    for (int i = 0; i < 200; i++)
        takt_pool_share(pool, look, &r, 4);
    EXPECT_EQ(takt_pool_moves(pool), 0);
    EXPECT_EQ(takt_cpu_confine(&usable), 0);
    takt_pool_destroy(pool);
}

static void end(void)
{
    EXPECT_EQ(ctx->live_bytes, 0);
    takt_ctx_destroy(ctx);
}

TEST_MAIN(begin, leaves, keeps_limits, cannot_leave, stays_free, bound_ones_stay, end)
