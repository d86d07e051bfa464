/* other_load.h - load of other processes on the processors that this process may use. */
#ifndef TAKT_OS_OTHER_LOAD_H
#define TAKT_OS_OTHER_LOAD_H

#include "base/inner.h"
#include "os/cpu.h"

/* Ticks since the start of the system, summed over the processors in question. */
typedef struct takt_ticks {
    uint64_t busy, idle, steal;
    uint64_t own_ns, when_ns; /* processor time of this process, and the clock */
    int processors;           /* 0: the system does not say */
    int waiting;              /* threads running or runnable at this moment, without the caller */
} takt_ticks;

/* Between two samples. */
typedef struct takt_other_load {
    double steal_pct;  /* fraction of the time that the hypervisor gave to other machines */
    double processors; /* kept busy by other processes; for short intervals, by those alive at both
                          ends */
    int usable;        /* processors in question; 0: the system does not say */
} takt_other_load;

TAKT_INNER void takt_ticks_read(takt_ticks *ticks);
/* The same from files below `root`, for the processors in `usable`; for tests. */
void takt_ticks_read_at(const char *root, const takt_cpu_set *usable, takt_ticks *ticks);
TAKT_INNER takt_other_load takt_ticks_between(const takt_ticks *before, const takt_ticks *after);
/* Whether other processes took time from this many threads, so that a thread had to wait. */
TAKT_INNER bool takt_other_load_disturbs(const takt_other_load *others, int threads);
/* At most this fraction of the time was lost to them. */
TAKT_INNER double takt_other_load_share(const takt_other_load *others, int threads);

#endif
