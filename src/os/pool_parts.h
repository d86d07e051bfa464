/* pool_parts.h - what a pool consists of, for the files that implement it: pool.c runs tasks,
 * pool_start.c starts and ends the workers. */
#ifndef TAKT_OS_POOL_PARTS_H
#define TAKT_OS_POOL_PARTS_H

#include <stdatomic.h>

#include "base/mem.h"
#include "os/futex.h"
#include "os/pool.h"

typedef struct takt_worker {
    _Alignas(TAKT_ALIGN) _Atomic uint64_t left;     /* tasks of its share that are not yet taken */
    _Alignas(TAKT_ALIGN) _Atomic uint64_t finished; /* tasks, of any share, that it has finished */
    takt_pool *pool;
    void *handle;
    int index;
    _Atomic uint32_t id; /* the system's thread id, 0 until it runs */
    _Atomic int cpu;     /* the processor that it last woke up on; -1: unknown */
    _Atomic int bound;   /* the one that it is bound to, and never leaves; -1: none */
} takt_worker;

struct takt_pool {
    _Alignas(TAKT_ALIGN) _Atomic uint32_t epoch;
    _Atomic uint64_t call; /* run << LOW_BITS | count */
    _Atomic(takt_task_fn *) task;
    _Atomic(void *) user;

    _Alignas(TAKT_ALIGN) _Atomic uint32_t sleepers;
    _Atomic uint32_t is_leased, is_stopping;
    _Atomic uint32_t waiting;            /* the caller sleeps until every task is done */
    _Atomic uint32_t rest_from, recalls; /* the first resting worker; TAKT_POOL_MAX: none */
    _Atomic uint32_t rests;              /* how often a worker went to rest */
    _Atomic int home;                    /* the processor of the caller that last woke workers */
    _Atomic uint32_t moves;              /* how often a worker moved away from it */

    takt_ctx *ctx;
    takt_futex futex;
    uint64_t spin_ns;
    int workers, room;
    size_t bytes;
    takt_worker worker[]; /* by thread; the first is the caller's */
};

/* The main function of a worker until the pool stops; takes a takt_worker. */
void takt_pool_work(void *worker);
/* Wakes the workers at rest. */
void takt_pool_recall(takt_pool *pool);

#endif
