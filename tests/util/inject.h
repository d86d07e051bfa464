/* inject.h - services for a context that fail on demand and detect every misuse of memory.
 *
 *     static takt_status scenario(takt_inject *inject, void *user)
 *     {
 *         takt_config config = {0};
 *         takt_inject_config(inject, &config);
 *         takt_ctx *ctx;
 *         takt_status status = takt_ctx_create(&config, &ctx);
 *         ... use it, destroy everything ...
 *         return status;
 *     }
 *     const takt_sweep_report r = takt_sweep(scenario, user, TAKT_INJECT_ALL);
 *     EXPECT(r.is_good, "%s", r.message);
 */
#ifndef TAKT_TESTS_UTIL_INJECT_H
#define TAKT_TESTS_UTIL_INJECT_H

#include <pthread.h>
#include <stdbool.h>

#include <takt/ctx.h>

typedef enum takt_inject_mode {
    TAKT_INJECT_OFF,
    TAKT_INJECT_ONCE,
    TAKT_INJECT_EVER
} takt_inject_mode;

/* The operations that can be made to fail; kinds share one counter. */
enum {
    TAKT_INJECT_MEMORY = 1,
    TAKT_INJECT_FILES = 2,
    TAKT_INJECT_THREADS = 4,
    TAKT_INJECT_ALL = 7,
    /* Nothing fails, but access to freed memory traps: every block has its own pages. Slow. */
    TAKT_INJECT_GUARDED = 8,
};

enum { TAKT_INJECT_SHORT = -1 }; /* as an errno: reads end early instead of failing */

typedef struct takt_inject_block takt_inject_block;

typedef struct takt_inject {
    /* The services. `inner_files` may be replaced before the first use. */
    takt_allocator memory;
    takt_files files, inner_files;
    takt_threads threads, inner_threads;
    /* The plan: operation `fail_at` of `kinds`, counted from 1, and in mode EVER all after it. */
    takt_inject_mode mode;
    unsigned kinds;
    uint64_t fail_at;
    bool (*fails)(void *user); /* says whether a request for memory fails as well; may be NULL */
    void *fails_user;
    int error; /* errno of failing file operations; default EIO */
    /* What happened. */
    uint64_t operations, hits;
    uint64_t gets, puts, live_bytes, peak_bytes;
    int64_t open_files, live_threads;
    int faults;      /* overruns, double and foreign frees, wrong sizes */
    char fault[160]; /* the first of them */
    /* Its own. */
    pthread_mutex_t lock;
    takt_inject_block *live, *freed_first, *freed_last;
    size_t freed_bytes;
    unsigned char *pages; /* of guarded blocks, in order; none is reused */
    size_t pages_used;
} takt_inject;

void takt_inject_init(takt_inject *inject);
/* Frees what is still live; returns the number of leaked blocks. */
uint64_t takt_inject_deinit(takt_inject *inject);
/* Sets allocator, files and threads of a configuration. */
void takt_inject_config(takt_inject *inject, takt_config *config);
/* Begins to count again under another plan. */
void takt_inject_plan(takt_inject *inject, takt_inject_mode mode, unsigned kinds, uint64_t fail_at);
/* Looks at the red zones of all live blocks; returns `faults`. */
int takt_inject_check(takt_inject *inject);

/* Makes its own context, frees everything, and returns its status. */
typedef takt_status takt_scenario(takt_inject *inject, void *user);

typedef struct takt_sweep_report {
    bool is_good;
    uint64_t runs;       /* with a failure injected */
    uint64_t operations; /* of one run without failures */
    uint64_t survived;   /* runs that succeeded in spite of the failure */
    char message[512];
} takt_sweep_report;

/* Runs the scenario without failures, then with each operation k failing, once and from there on.
 * Every run must succeed or return TAKT_ERR_MEMORY (TAKT_ERR_IO or TAKT_ERR_FORMAT where files take
 * part), and leave nothing behind: no block, no open file, no thread, no overrun. */
takt_sweep_report takt_sweep(takt_scenario *scenario, void *user, unsigned kinds);
/* The same with about `most` of the operations, spread evenly: for scenarios that take long. */
takt_sweep_report takt_sweep_some(takt_scenario *scenario, void *user, unsigned kinds,
                                  uint64_t most);
/* The same with another errno for files, TAKT_INJECT_SHORT included. */
takt_sweep_report takt_sweep_error(takt_scenario *scenario, void *user, unsigned kinds, int error);

#endif
