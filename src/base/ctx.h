/* ctx.h - the contents of a context. The operating system's services are filled in by os/ and
 * api/. */
#ifndef TAKT_BASE_CTX_H
#define TAKT_BASE_CTX_H

#include <stdbool.h>
#include <takt/ctx.h>

#include "base/lock.h"

/* A share of the processors, and since when it is counted. */
typedef struct takt_cpu_budget {
    double percent; /* 0: no limit */
    double processors;
    uint64_t wall_ns, cpu_ns;           /* where counting began */
    uint64_t seen_wall_ns, seen_cpu_ns; /* at the last takt_resource_usage */
    _Atomic uint64_t waited_ns;
    takt_lock lock; /* held for a few instructions */
} takt_cpu_budget;

struct takt_ctx {
    takt_allocator allocator; /* counts against limits.bytes */
    takt_allocator outer;     /* the caller's or the system's, beneath the counting one */
    _Atomic uint64_t live_bytes, peak_bytes;
    _Atomic uint64_t allocations, allocated_bytes; /* so far */
    takt_files files;
    takt_threads threads;
    uint64_t (*now_ns)(void *user);
    void *clock_user;
    takt_log_fn *log;
    void *log_user;
    _Atomic uint64_t messages, log_ns; /* number logged so far, and time spent in the callback */
    takt_limits limits;
    takt_error error;
    takt_lock error_lock;                /* held while the error is written */
    struct takt_plan_cache *plans;       /* made by its first use, api/cache.c */
    takt_lock plans_lock;                /* held for a few instructions */
    uint64_t tick;                       /* of the last count of memory, under plans_lock */
    struct takt_storage *shares;         /* constants of plans, a list: ir/share.c */
    takt_lock shares_lock;               /* held for a few instructions */
    atomic_bool has_lost_bytes;          /* weights could not be read: ir/late.h */
    const struct takt_backend *added[4]; /* backends besides our own: api/backends.h */
    struct takt_opened *opened;          /* what backends opened: plan/device.h */
    takt_lock opened_lock;               /* held for a few instructions */
    struct takt_native_op *natives;      /* functions for custom ops: base/native.h */
    const struct takt_watch *watch;      /* gets the events of all runs; or NULL: plan/execute.h */
    takt_cpu_budget cpu;                 /* the processors that runs may use: api/usage.h */
};

/* The same services, limits and memory with its own error: for code that runs on another thread and
 * reports elsewhere. Destroy it before the objects that were made with it. */
void takt_ctx_shadow(const takt_ctx *of, takt_ctx *shadow);

#endif
