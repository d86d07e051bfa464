/* session_threads.c - sessions and threads: affinity, spin, pages, one processor, idle, two on one
 * pool. */
#define _GNU_SOURCE
#include "test.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <takt/takt.h>

#include "api/session/session.h"
#include "os/cpu.h"

/* Wide enough that its steps have several tasks. */
static const char text[] = "model m(x: f32[n, 256]) -> (y: f32[n, 256]) seed=4 {\n"
                           "  return y = x |> dense(256, act=tanh) |> dense(256)\n"
                           "}\n";
enum { ROWS = 64, BYTES = ROWS * 256 * 4 };

static takt_ctx *ctx;
static takt_model *model;
static _Atomic int warnings;

static void listen(void *user, takt_log_level level, const char *line)
{
    (void)user;
    (void)line;
    warnings += level == TAKT_LOG_WARNING;
}

static void open_all(void)
{
    const takt_config config = {.log = listen};
    EXPECT_OK(NULL, takt_ctx_create(&config, &ctx));
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", text, strlen(text), NULL, &model));
}

static void close_all(void)
{
    takt_model_destroy(model);
    takt_ctx_destroy(ctx);
}

static takt_plan *plan_of(int threads)
{
    takt_plan *plan = NULL;
    EXPECT_OK(ctx, takt_plan_get(model, &(takt_plan_options){.sizes = "n=64", .threads = threads},
                                 &plan));
    return plan;
}

static takt_session *session_of(int threads, const takt_session_options *options)
{
    takt_plan *plan = plan_of(threads);
    takt_session *s = NULL;
    EXPECT_OK(ctx, takt_session_create(plan, options, &s));
    takt_plan_destroy(plan);
    for (int i = 0; s != NULL && i < ROWS * 256; i++)
        ((float *)takt_session_input(s, 0)->data)[i] = (float)(i % 97) / 50.0f - 1.0f;
    return s;
}

static bool runs(takt_session *s)
{
    return EXPECT(takt_session_run(s) == TAKT_OK, "%s", takt_session_error(s)->message);
}

/* ---- where threads run ---- */

static int last_cpu(void)
{
    takt_cpu_set usable;
    int last = 0;
    takt_cpu_usable(&usable);
    for (int cpu = 0; cpu < TAKT_CPU_MAX; cpu++)
        last = takt_cpu_set_has(&usable, cpu) ? cpu : last;
    return last;
}

/* Processors that thread `tid` of this process may use, as the kernel lists them. */
static void allowed(const char *tid, char *list, size_t size)
{
    char path[300], line[256];
    snprintf(path, sizeof path, "/proc/self/task/%s/status", tid);
    FILE *file = fopen(path, "r");
    list[0] = '\0';
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, "Cpus_allowed_list:", 18) == 0)
            snprintf(list, size, "%s", line + 18 + strspn(line + 18, " \t"));
    if (file != NULL)
        fclose(file);
    list[strcspn(list, "\n")] = '\0';
}

/* Threads of the process; returns how many of them are restricted to `cpu`. */
static int threads_on(int cpu, int *bound)
{
    DIR *folder = opendir("/proc/self/task");
    int count = 0;
    *bound = 0;
    for (const struct dirent *e; folder != NULL && (e = readdir(folder)) != NULL;) {
        char list[128], want[16];
        if (e->d_name[0] == '.')
            continue;
        allowed(e->d_name, list, sizeof list);
        snprintf(want, sizeof want, "%d", cpu);
        *bound += strcmp(list, want) == 0;
        count++;
    }
    if (folder != NULL)
        closedir(folder);
    return count;
}

static void affinity(void)
{
    const int cpu = last_cpu();
    int bound, before;
    threads_on(cpu, &before);
    const int cores[] = {-1, cpu};
    takt_session *s =
        session_of(2, &(takt_session_options){.cores = cores, .core_count = 2, .spin_ns = -1});
    runs(s);
    threads_on(cpu, &bound);
    takt_cpu_set usable;
    takt_cpu_usable(&usable);
    const int count = takt_cpu_set_count(&usable);
    EXPECT(bound == before + 1 || count == 1, "%d threads are bound to %d, before %d", bound, cpu,
           before);
    EXPECT_STATUS(NULL, takt_set_affinity(s, 2, cpu), TAKT_ERR_ARGUMENT);
    EXPECT(strstr(takt_session_error(s)->message, "no worker 2") != NULL &&
               strstr(takt_session_error(s)->hint, "0 to 1") != NULL,
           "%s; %s", takt_session_error(s)->message, takt_session_error(s)->hint);
    EXPECT_STATUS(NULL, takt_set_affinity(s, 1, 1023), TAKT_ERR_ARGUMENT);
    EXPECT(strstr(takt_session_error(s)->message, "core 1023") != NULL, "%s",
           takt_session_error(s)->message);
    runs(s); /* and it still works */
    takt_session_destroy(s);
    takt_plan *plan = plan_of(2);
    const int absurd[] = {-1, 1023};
    EXPECT_STATUS(
        ctx,
        takt_session_create(plan, &(takt_session_options){.cores = absurd, .core_count = 2}, &s),
        TAKT_ERR_ARGUMENT);
    EXPECT(s == NULL && strstr(takt_last_error(ctx), "1023") != NULL, "%s", takt_last_error(ctx));
    EXPECT_STATUS(ctx, takt_session_create(plan, &(takt_session_options){.core_count = 2}, &s),
                  TAKT_ERR_ARGUMENT);
    takt_plan_destroy(plan);
}

/* ---- in a child, whose affinity may be changed ---- */

static int in_child(int (*body)(void))
{
    int status = 0;
    fflush(stdout);
    const pid_t pid = fork();
    if (pid == 0)
        _exit(body());
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status)
                                                                           : -1;
}

/* One processor: one thread, no pool, and nothing is notified. */
static int on_one_processor(void)
{
    const int cpu = last_cpu();
    char mask[300] = "0x";
    int bound;
    mask[2] = "1248"[cpu % 4];
    memset(mask + 3, '0', (size_t)(cpu / 4));
    mask[3 + cpu / 4] = '\0';
    warnings = 0;
    if (takt_cpu_mask(ctx, mask) != TAKT_OK)
        return 1;
    takt_session *s = session_of(0, NULL);
    if (s == NULL || takt_session_run(s) != TAKT_OK)
        return 2;
    if (s->plan->threads != 1 || takt_pool_threads(s->pool) != 1)
        return 3;
    if (threads_on(cpu, &bound) != 1 || bound != 1)
        return 4;
    return warnings == 0 ? 0 : 5;
}

static void one_processor(void)
{
    if (TEST_SANITIZED) /* they have threads of their own */
        return;
    const int code = in_child(on_one_processor);
    EXPECT(code == 0, "the child ended with %d", code);
    EXPECT_STATUS(ctx, takt_cpu_mask(ctx, "0"), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(ctx, takt_cpu_mask(ctx, "0xg"), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(ctx, takt_cpu_mask(ctx, ""), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(ctx, takt_cpu_mask(ctx, NULL), TAKT_ERR_ARGUMENT);
    EXPECT(strstr(takt_last_error_info(ctx)->hint, "0x5") != NULL);
    char far[300];
    memset(far, '0', sizeof far);
    far[0] = '8';
    far[256] = '\0'; /* processor 1023 */
    EXPECT_STATUS(ctx, takt_cpu_mask(ctx, far), TAKT_ERR_ARGUMENT);
}

/* ---- idle ---- */

static uint64_t cpu_time_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t cpu_time_of(int milliseconds)
{
    const struct timespec nap = {.tv_sec = milliseconds / 1000,
                                 .tv_nsec = milliseconds % 1000 * 1000000L};
    const uint64_t start = cpu_time_ns();
    nanosleep(&nap, NULL);
    return cpu_time_ns() - start;
}

/* Soon after a run, less than 0.1 % of one processor: at once, or on a loaded machine once every
 * worker has been scheduled; one that polls never gets there. */
static void idle_sessions(void)
{
    takt_session *s = session_of(4, NULL);
    for (int i = 0; i < 20; i++)
        runs(s);
    uint64_t used = UINT64_MAX;
    cpu_time_of(10);
    for (int i = 0; i < 30 && used >= 300000; i++)
        used = cpu_time_of(300);
    EXPECT(used < 300000 || TEST_SANITIZED, "%llu ns of 300 ms", (unsigned long long)used);
    takt_session_destroy(s);
}

/* A session set to spin longer does, which shows that the test above can fail; it stops when
 * destroyed. */
static void spinning_sessions(void)
{
    takt_session *s = session_of(4, &(takt_session_options){.spin_ns = INT64_C(600000000000)});
    for (int i = 0; i < 20; i++)
        runs(s);
    cpu_time_of(10);
    uint64_t spun = 0;
    for (int i = 0; i < 6000 && spun <= 5000000; i++)
        spun += cpu_time_of(10);
    EXPECT(spun > 5000000, "a spin of ten minutes took %llu ns", (unsigned long long)spun);
    takt_session_destroy(s);
}

/* ---- two sessions on one pool ---- */

/* Another thread holds the pool forever: runs of this session still finish, with the same bits. */
static void nobody_waits(void)
{
    takt_pool *pool;
    EXPECT_OK(ctx, takt_pool_open(ctx, 2, &pool));
    takt_session *a = session_of(2, &(takt_session_options){.pool = pool});
    takt_session *b = session_of(2, &(takt_session_options){.pool = pool});
    EXPECT(a->plan->is_parallel, "the model is too small for this test");
    runs(a);
    EXPECT(takt_pool_try_lease(pool));
    for (int i = 0; i < 20; i++)
        runs(b);
    EXPECT_EQ(memcmp(takt_session_output(a, 0)->data, takt_session_output(b, 0)->data, BYTES), 0);
    takt_pool_release(pool);
    EXPECT(takt_pool_try_lease(pool), "a run has given the lease back");
    takt_pool_release(pool);
    takt_session_destroy(a);
    takt_session_destroy(b);
    takt_pool_close(pool);
}

static void *many_runs(void *arg)
{
    for (int i = 0; i < 100; i++)
        if (takt_session_run(arg) != TAKT_OK)
            return arg;
    return NULL;
}

static void both_at_once(void)
{
    takt_pool *pool;
    pthread_t other;
    void *failed;
    EXPECT_OK(ctx, takt_pool_open(ctx, 2, &pool));
    takt_session *a = session_of(2, &(takt_session_options){.pool = pool});
    takt_session *b = session_of(2, &(takt_session_options){.pool = pool});
    EXPECT_EQ(pthread_create(&other, NULL, many_runs, a), 0);
    EXPECT(many_runs(b) == NULL);
    pthread_join(other, &failed);
    EXPECT_SAME(failed, NULL);
    EXPECT_EQ(memcmp(takt_session_output(a, 0)->data, takt_session_output(b, 0)->data, BYTES), 0);
    takt_session_destroy(a);
    takt_session_destroy(b);
    takt_pool_close(pool);
}

TEST_MAIN(open_all, affinity, one_processor, idle_sessions, spinning_sessions, nobody_waits,
          both_at_once, close_all)
