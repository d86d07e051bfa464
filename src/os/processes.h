/* processes.h - which processes use the processors. */
#ifndef TAKT_OS_PROCESSES_H
#define TAKT_OS_PROCESSES_H

#include "base/error.h"
#include "base/inner.h"

enum { TAKT_PROCESS_NAME = 32, TAKT_BUSIEST = 5 };

typedef struct takt_process {
    int id;
    uint64_t ticks; /* of processor time so far */
    bool is_kernel; /* a kernel thread: signals do not stop it */
    char name[TAKT_PROCESS_NAME];
} takt_process;

typedef struct takt_process_list {
    takt_process *at;
    size_t count, capacity;
    uint64_t when_ns;
} takt_process_list;

/* All visible processes; none where there is no /proc. `root` is put before the path, for tests. */
TAKT_INNER TAKT_MUST_USE takt_status takt_processes_read(takt_ctx *ctx, const char *root,
                                                         takt_process_list *list);
TAKT_INNER void takt_processes_free(takt_ctx *ctx, takt_process_list *list);

typedef struct takt_busy {
    int id;
    double percent; /* of one processor */
    bool is_kernel;
    char name[TAKT_PROCESS_NAME];
} takt_busy;

/* The busiest between two lists, without this process; returns their number, at most
 * TAKT_BUSIEST. */
TAKT_INNER size_t takt_processes_busiest(const takt_process_list *before,
                                         const takt_process_list *after,
                                         takt_busy busiest[TAKT_BUSIEST]);

#endif
