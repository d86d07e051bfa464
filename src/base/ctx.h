/* ctx.h - what a context holds. The operating system's services are filled in by os/ and api/. */
#ifndef TAKT_BASE_CTX_H
#define TAKT_BASE_CTX_H

#include <stdbool.h>
#include <takt/ctx.h>

struct takt_ctx {
    takt_allocator allocator; /* counts against limits.bytes */
    takt_allocator outer;     /* the caller's or the system's, beneath the counting one */
    _Atomic uint64_t live_bytes;
    takt_files files;
    takt_threads threads;
    uint64_t (*now_ns)(void *user);
    void *clock_user;
    takt_log_fn *log;
    void *log_user;
    takt_limits limits;
    takt_error error;
    struct takt_plan_cache *plans;  /* made by its first use, api/cache.c */
    _Atomic bool plans_busy;        /* held for a few instructions */
    struct takt_shares *shares;     /* constants of plans: ir/share.c */
    _Atomic bool shares_busy;       /* held for a few instructions */
    struct takt_native_op *natives; /* functions for custom ops: base/native.h */
};

#endif
