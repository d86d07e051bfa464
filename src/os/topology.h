/* topology.h - the topology of a machine's processors: sockets, cores, caches, nodes. */
#ifndef TAKT_OS_TOPOLOGY_H
#define TAKT_OS_TOPOLOGY_H

#include "base/inner.h"
#include "os/cpu.h"

enum { TAKT_NODES = 64, TAKT_CPU_LIST = 256 };

/* For every online processor the lowest one of its group; -1: unknown, or not online. */
typedef struct takt_cpu_groups {
    short first[TAKT_CPU_MAX];
    int count; /* of groups */
} takt_cpu_groups;

typedef struct takt_numa_node {
    int id;
    takt_cpu_set cpus;
    uint64_t memory_bytes; /* 0: unknown */
} takt_numa_node;

typedef struct takt_topology {
    takt_cpu_set online;
    int threads;                              /* online */
    takt_cpu_groups sockets, cores;           /* counts of 0: unknown */
    takt_cpu_groups cache[TAKT_CACHE_LEVELS]; /* data or unified; the processors that share one */
    takt_numa_node node[TAKT_NODES];
    int node_count; /* 0: unknown */
} takt_topology;

/* From files beneath `root`, which is "" except in tests. */
TAKT_INNER void takt_topology_read(const char *root, takt_topology *t);
/* The processors of the group whose lowest is `first`. */
TAKT_INNER void takt_cpu_group(const takt_cpu_groups *groups, int first, takt_cpu_set *set);
/* "0-3,8"; ends in "..." if it does not fit. Returns `to`. */
TAKT_INNER const char *takt_cpu_list(const takt_cpu_set *set, char to[static TAKT_CPU_LIST]);

#endif
