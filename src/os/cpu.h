/* cpu.h - facts about the machine, and about the part of it available to this process. */
#ifndef TAKT_OS_CPU_H
#define TAKT_OS_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/inner.h"

enum { TAKT_CPU_MAX = 1024, TAKT_CPU_TEXT = 128, TAKT_CACHE_LEVELS = 4 };

/* A set of logical processors. */
typedef struct takt_cpu_set {
    uint64_t bits[TAKT_CPU_MAX / 64];
} takt_cpu_set;

static inline bool takt_cpu_set_has(const takt_cpu_set *set, int cpu)
{
    return cpu >= 0 && cpu < TAKT_CPU_MAX && (set->bits[cpu / 64] >> (cpu % 64) & 1) != 0;
}

static inline void takt_cpu_set_add(takt_cpu_set *set, int cpu)
{
    if (cpu >= 0 && cpu < TAKT_CPU_MAX)
        set->bits[cpu / 64] |= UINT64_C(1) << (cpu % 64);
}

static inline int takt_cpu_set_count(const takt_cpu_set *set)
{
    int count = 0;
    for (int cpu = 0; cpu < TAKT_CPU_MAX; cpu++)
        count += takt_cpu_set_has(set, cpu);
    return count;
}

typedef struct takt_cache {
    uint64_t bytes; /* of one instance; 0: unknown */
    int shared_by;  /* logical processors that share it */
    int line_bytes;
} takt_cache;

typedef struct takt_cpu_facts {
    char model[TAKT_CPU_TEXT];
    int logical;      /* processors of the machine that are online */
    int usable;       /* those in this process's affinity mask */
    int usable_cores; /* physical cores among them */
    bool is_hybrid;   /* usable cores differ in strength */
    int fast_cores;   /* usable physical cores of the strong kind; all, if there is one kind */
    double quota;     /* processors' worth of time that the cgroup allows; 0: no quota */
    takt_cache data[TAKT_CACHE_LEVELS]; /* [0] is level 1, data or unified */
    uint64_t memory_bytes;              /* of the machine */
    uint64_t memory_limit;              /* of the cgroup; 0: none */
    size_t page_bytes;
    size_t huge_page_bytes; /* 0: none */
    char huge_pages[16];    /* transparent ones: "always", "madvise", "never" or "" */
} takt_cpu_facts;

TAKT_INNER void takt_cpu_read(takt_cpu_facts *facts);
/* Read from files beneath `root` instead of "/", for processors in `usable`: for tests. */
void takt_cpu_read_at(const char *root, const takt_cpu_set *usable, takt_cpu_facts *facts);
/* Useful thread count: strong physical cores within affinity and quota, at least 1. */
TAKT_INNER int takt_cpu_threads(const takt_cpu_facts *facts);
/* Bytes available to this process: the machine's, or the cgroup's limit if lower. */
TAKT_INNER uint64_t takt_memory_allowed(void);
/* The processors in this process's affinity mask. */
TAKT_INNER void takt_cpu_usable(takt_cpu_set *usable);
/* Binds a thread (0: the calling one) to one processor; 0 or a positive errno. */
int takt_cpu_bind(int thread_id, int cpu);
/* Restricts the calling thread to these processors; 0 or a positive errno. */
int takt_cpu_confine(const takt_cpu_set *to);
/* The processor that the calling thread runs on; -1 if the system does not report it. */
int takt_cpu_here(void);
/* Moves the calling thread from `cpu` to another processor that it may use, preferably one that is
 * not `taken`. Its affinity mask is then restored. False: it could not be moved. */
bool takt_cpu_leave(int cpu, const takt_cpu_set *taken);
/* The system's id of the calling thread, for takt_cpu_bind; 0 where there is none. */
TAKT_INNER int takt_cpu_thread_id(void);

#endif
