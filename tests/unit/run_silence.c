/* run_silence.c - a run does nothing but compute: memory is as planned, to the byte; a run does not
 * allocate or call the system, and no result depends on leftovers in the arena. */
#define _GNU_SOURCE
#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <takt/takt.h>

#include "api/session/session.h"
#include "util/inject.h"

static const struct {
    const char *path, *sizes;
} models[] = {
    {"examples/mlp.takt", "batch=3"},
    {"examples/cnn.takt", "batch=2"},
    {"examples/encoder.takt", "batch=2,seq=9"},
    {"examples/gpt.takt", NULL},
    {"examples/stream.takt", NULL},
    {"examples/kv.takt", "rows=3"},
};
enum { MODELS = sizeof models / sizeof *models, ENCODER = 2, WIDTH = 64 };

typedef struct fixture {
    const char *path;
    takt_inject inject;
    takt_ctx *ctx;
    takt_plan *plan;
    takt_plan_info info;
    takt_pool *pool;
    takt_session *session;
} fixture;

static size_t bytes_of(const takt_tensor_view *v)
{
    size_t n = (size_t)takt_dtype_bits(v->dtype) / 8;
    for (int d = 0; d < v->rank; d++)
        n *= (size_t)v->dims[d];
    return n;
}

/* Values that are good for every input: small floats, small indices. */
static void fill(takt_session *s)
{
    for (size_t i = 0; i < takt_session_input_count(s); i++) {
        const takt_tensor_view *v = takt_session_input(s, i);
        const size_t n = bytes_of(v) / ((size_t)takt_dtype_bits(v->dtype) / 8);
        for (size_t k = 0; k < n; k++)
            if (v->dtype == TAKT_F32)
                ((float *)v->data)[k] = (float)((k * 37 + i) % 101) / 50.0f - 1.0f;
            else if (v->dtype == TAKT_I64)
                ((int64_t *)v->data)[k] = (int64_t)(k % 5);
    }
}

static const char *ranges; /* for later plans, instead of the model's sizes; or NULL */

static bool begin(fixture *f, size_t model, int threads, const takt_session_options *given)
{
    *f = (fixture){.path = models[model].path};
    takt_inject_init(&f->inject);
    takt_config config = {0};
    takt_inject_config(&f->inject, &config);
    takt_model *m = NULL;
    const takt_plan_options options = {.sizes = ranges != NULL ? ranges : models[model].sizes,
                                       .threads = threads};
    takt_session_options own = given != NULL ? *given : (takt_session_options){0};
    bool ok = EXPECT_OK(NULL, takt_ctx_create(&config, &f->ctx)) &&
              EXPECT_OK(f->ctx, takt_model_load(f->ctx, f->path, NULL, &m)) &&
              EXPECT_OK(f->ctx, takt_plan_create(m, &options, &f->plan));
    takt_model_destroy(m);
    if (ok && threads > 1)
        ok = EXPECT_OK(f->ctx, takt_pool_open(f->ctx, threads, &f->pool));
    if (!ok)
        return false;
    own.pool = f->pool;
    takt_plan_query(f->plan, &f->info);
    takt_inject_plan(&f->inject, TAKT_INJECT_OFF, TAKT_INJECT_ALL, 0);
    return EXPECT_OK(f->ctx, takt_session_create(f->plan, &own, &f->session));
}

static void end(fixture *f)
{
    takt_session_destroy(f->session);
    takt_pool_close(f->pool);
    takt_plan_destroy(f->plan);
    takt_ctx_destroy(f->ctx);
    EXPECT(takt_inject_deinit(&f->inject) == 0, "%s leaks", f->path);
}

/* From the initial values: a cache would be full after some runs. */
static void run(fixture *f)
{
    takt_session_reset(f->session);
    EXPECT(takt_session_run(f->session) == TAKT_OK, "%s: %s", f->path,
           takt_session_error(f->session)->message);
}

/* ---- memory ---- */

static void memory_is_as_stated(void)
{
    for (size_t i = 0; i < 2 * MODELS; i++) {
        fixture f;
        if (!begin(&f, i / 2, 1 + (int)(i % 2), NULL)) {
            end(&f);
            continue;
        }
        const uint64_t before = f.inject.live_bytes - f.info.session - f.info.state - f.info.arena;
        for (size_t k = 0; k < takt_session_output_count(f.session); k++)
            EXPECT(takt_session_output(f.session, k) != NULL);
        fill(f.session);
        const uint64_t gets = f.inject.gets;
        for (int k = 0; k < 100; k++)
            run(&f);
        EXPECT(f.inject.gets == gets, "%s: %llu allocations in 100 runs", f.path,
               (unsigned long long)(f.inject.gets - gets));
        const uint64_t want = f.info.session + f.info.state + f.info.arena + f.info.io;
        EXPECT(f.inject.peak_bytes - before == want, "%s: peak %llu, the plan says %llu", f.path,
               (unsigned long long)(f.inject.peak_bytes - before), (unsigned long long)want);
        takt_session_destroy(f.session);
        f.session = NULL;
        EXPECT(f.inject.live_bytes == before, "%s: %lld bytes are not the session's", f.path,
               (long long)(f.inject.live_bytes - before));
        end(&f);
    }
}

/* ---- the arena ---- */

static size_t output_bytes(const fixture *f)
{
    size_t bytes = 0;
    for (size_t k = 0; k < takt_session_output_count(f->session); k++)
        bytes += bytes_of(takt_session_output(f->session, k));
    return bytes;
}

static void save(const fixture *f, unsigned char *to)
{
    for (size_t k = 0; k < takt_session_output_count(f->session); k++) {
        const takt_tensor_view *v = takt_session_output(f->session, k);
        memcpy(to, v->data, bytes_of(v));
        to += bytes_of(v);
    }
}

/* 0xA5 is an unlikely number, 0xFF a NaN of every float type and -1 of every integer. */
static void poison_changes_nothing(void)
{
    static const int patterns[] = {0, 0xA5, 0xFF};
    for (size_t i = 0; i < 2 * MODELS; i++) {
        fixture f;
        if (!begin(&f, i / 2, 1 + (int)(i % 2), NULL)) {
            end(&f);
            continue;
        }
        const size_t bytes = output_bytes(&f);
        unsigned char *first = calloc(1, bytes), *now = calloc(1, bytes);
        fill(f.session);
        for (size_t k = 0; k < sizeof patterns / sizeof *patterns; k++) {
            takt_session_reset(f.session);
            memset(f.session->arena, patterns[k], f.info.arena);
            run(&f);
            save(&f, k == 0 ? first : now);
            EXPECT(k == 0 || memcmp(first, now, bytes) == 0,
                   "%s: an arena full of 0x%02X changes the result", f.path, (unsigned)patterns[k]);
        }
        free(first);
        free(now);
        end(&f);
    }
}

/* The arena ends, and then begins, at a page that must not be touched. */
static void guard_pages(void)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t i = 0; i < 2 * MODELS; i++) {
        fixture f;
        if (!begin(&f, i / 2, 1, NULL)) {
            end(&f);
            continue;
        }
        const size_t bytes = f.info.arena, room = (bytes + page - 1) / page * page;
        end(&f);
        unsigned char *map =
            mmap(NULL, room + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        EXPECT(map != MAP_FAILED);
        EXPECT(room == 0 || mprotect(map + page, room, PROT_READ | PROT_WRITE) == 0);
        EXPECT(bytes % 64 == 0, "%s: an arena of %zu bytes", models[i / 2].path, bytes);
        const takt_session_options options = {
            .arena = i % 2 == 0 ? map + page : map + page + room - bytes, .arena_bytes = bytes};
        if (begin(&f, i / 2, 1, &options)) {
            fill(f.session);
            run(&f);
        }
        end(&f);
        munmap(map, room + 2 * page);
    }
}

static void arena_too_small(void)
{
    static _Alignas(64) unsigned char memory[128];
    fixture f;
    if (begin(&f, 0, 1, NULL)) {
        takt_session *s;
        takt_session_options o = {.arena = memory, .arena_bytes = 64};
        EXPECT_STATUS(f.ctx, takt_session_create(f.plan, &o, &s), TAKT_ERR_ARGUMENT);
        o = (takt_session_options){.arena = memory + 4, .arena_bytes = UINT64_MAX};
        EXPECT_STATUS(f.ctx, takt_session_create(f.plan, &o, &s), TAKT_ERR_ARGUMENT);
        EXPECT_SAME(s, NULL);
    }
    end(&f);
}

/* ---- system calls ---- */

static volatile int *caught; /* shared with the child: the number of a call, or -1 */

static void on_call(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)context;
    *caught = info->si_syscall;
    _exit(3);
}

/* From now on no thread of this process may call anything but futex and exit, and the calls with
 * which a worker leaves the caller's processor. */
static bool close_the_door(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_futex, 5, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sched_getaffinity, 4, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sched_setaffinity, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof code / sizeof *code, .filter = code};
    struct sigaction action = {.sa_flags = SA_SIGINFO};
    action.sa_sigaction = on_call;
    sigaction(SIGSYS, &action, NULL);
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}

/* The system call that thread `id` of this process is in; -1 if it is in none, or if that is
 * unknown. */
static long call_of(const char *id)
{
    char path[300], line[64] = "", *rest = line;
    snprintf(path, sizeof path, "/proc/self/task/%s/syscall", id);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return -1;
    const bool was_read = fgets(line, sizeof line, file) != NULL;
    fclose(file);
    const long call = strtol(line, &rest, 10);
    return was_read && rest != line ? call : -1;
}

/* A new thread still makes system calls: waits until all others are idle, for at most a minute. If
 * the system does not report it, waits for a second. */
static void settle(void)
{
    char own[32];
    snprintf(own, sizeof own, "%d", (int)getpid());
    const bool is_reported = call_of(own) >= 0;
    for (int left = is_reported ? 6000 : 100, busy = 1; left > 0 && busy > 0; left--) {
        usleep(10000);
        DIR *tasks = opendir("/proc/self/task");
        busy = tasks == NULL || !is_reported;
        for (struct dirent *e; tasks != NULL && (e = readdir(tasks)) != NULL;)
            busy += e->d_name[0] != '.' && strcmp(e->d_name, own) != 0 &&
                    call_of(e->d_name) != SYS_futex;
        if (tasks != NULL)
            closedir(tasks);
    }
}

enum { CHILD_OK = 0, CHILD_FAILED = 1, CHILD_NO_FILTER = 2, CHILD_CAUGHT = 3 };

static void child(size_t model, int threads)
{
    fixture f;
    if (!begin(&f, model, threads, NULL))
        _exit(CHILD_FAILED);
    fill(f.session);
    for (int k = 0; k < 3; k++) /* lazy initialisation happens here */
        run(&f);
    if (threads > 1)
        settle();
    if (!close_the_door())
        _exit(CHILD_NO_FILTER);
    int failed = 0;
    for (int k = 0; k < 100; k++) {
        takt_session_reset(f.session);
        failed |= takt_session_run(f.session) != TAKT_OK;
    }
    _exit(failed);
}

/* Runs whose buffers have other sizes each time, inside the range of the plan. */
static bool run_sizes(fixture *f, int count)
{
    static float x[3 * 40 * WIDTH];
    takt_tensor_view view = {.dtype = TAKT_F32, .rank = 3, .data = x};
    for (int k = 0; k < count; k++) {
        view.dims[0] = 1 + k % 3;
        view.dims[1] = 1 + k * 37 % 40;
        view.dims[2] = WIDTH;
        if (takt_session_bind(f->session, "x", &view) != TAKT_OK ||
            takt_session_run(f->session) != TAKT_OK)
            return false;
    }
    return true;
}

/* From the second size on a session allocates nothing. */
static void child_sizes(int threads)
{
    fixture f;
    ranges = "batch=1..3,seq=1..40";
    if (!begin(&f, ENCODER, threads, NULL) || !run_sizes(&f, 3))
        _exit(CHILD_FAILED);
    if (threads > 1)
        settle();
    if (!close_the_door())
        _exit(CHILD_NO_FILTER);
    const uint64_t gets = f.inject.gets;
    _exit(run_sizes(&f, 120) && f.inject.gets == gets ? CHILD_OK : CHILD_FAILED);
}

static void no_system_calls(void)
{
    caught = mmap(NULL, sizeof *caught, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    EXPECT(caught != MAP_FAILED);
    for (size_t i = 0; i < 2 * MODELS + 2 && !TEST_SANITIZED; i++) {
        *caught = -1;
        fflush(stdout);
        const pid_t pid = fork();
        if (pid == 0 && i / 2 < MODELS)
            child(i / 2, 1 + (int)(i % 2));
        else if (pid == 0)
            child_sizes(1 + (int)(i % 2));
        int status = 0;
        EXPECT_IS(pid, >, 0);
        EXPECT_EQ(waitpid(pid, &status, 0), pid);
        const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
        if (code == CHILD_NO_FILTER)
            TEST_SKIP("system calls cannot be filtered here");
        EXPECT(code == CHILD_OK, "%s, %d threads: exit %d, system call %d",
               i / 2 < MODELS ? models[i / 2].path : "other sizes", 1 + (int)(i % 2), code,
               *caught);
    }
}

TEST_MAIN(memory_is_as_stated, poison_changes_nothing, guard_pages, arena_too_small,
          no_system_calls)
