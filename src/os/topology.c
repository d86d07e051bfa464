/* topology.c - reads the processor topology from files that the kernel publishes. */
#include "os/topology.h"

#include <stdio.h>
#include <string.h>

#include "os/facts.h"

static void forget(takt_cpu_groups *g)
{
    for (int cpu = 0; cpu < TAKT_CPU_MAX; cpu++)
        g->first[cpu] = -1;
    g->count = 0;
}

static int lowest(const takt_cpu_set *set)
{
    int cpu = 0;
    while (cpu < TAKT_CPU_MAX && !takt_cpu_set_has(set, cpu))
        cpu++;
    return cpu < TAKT_CPU_MAX ? cpu : -1;
}

/* `name` is a file in the folder of the processor that lists the group. */
static bool join(const char *root, int cpu, const char *name, takt_cpu_groups *g)
{
    char path[TAKT_FACT_PATH];
    takt_cpu_set set;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/%.64s", cpu, name);
    if (!takt_fact_cpus(root, path, &set))
        return false;
    const int first = lowest(&set);
    g->first[cpu] = (short)first;
    g->count += first == cpu;
    return true;
}

static void join_caches(const char *root, int cpu, takt_topology *t)
{
    for (int index = 0; index < 16; index++) {
        char path[TAKT_FACT_PATH], type[32];
        uint64_t level;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cache/index%d/type", cpu, index);
        if (!takt_fact_text(root, path, type, sizeof type))
            return;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cache/index%d/level", cpu,
                 index);
        if (strcmp(type, "Instruction") == 0 || !takt_fact_number(root, path, &level) ||
            level < 1 || level > TAKT_CACHE_LEVELS)
            continue;
        snprintf(path, sizeof path, "cache/index%d/shared_cpu_list", index);
        join(root, cpu, path, &t->cache[level - 1]);
    }
}

static void read_node(const char *root, int id, takt_topology *t)
{
    char path[TAKT_FACT_PATH], text[TAKT_FACT_TEXT], key[32], value[64];
    uint64_t kib;
    takt_numa_node *n = &t->node[t->node_count];
    *n = (takt_numa_node){.id = id};
    snprintf(path, sizeof path, "/sys/devices/system/node/node%d/cpulist", id);
    if (!takt_fact_cpus(root, path, &n->cpus) && id > 0)
        return; /* memory without processors is still a node if its file exists */
    snprintf(path, sizeof path, "/sys/devices/system/node/node%d/meminfo", id);
    snprintf(key, sizeof key, "Node %d MemTotal", id);
    if (takt_fact_text(root, path, text, sizeof text) &&
        takt_fact_field(text, key, value, sizeof value) && takt_fact_parse(value, &kib))
        n->memory_bytes = kib * 1024;
    t->node_count++;
}

static void read_nodes(const char *root, takt_topology *t)
{
    takt_cpu_set ids; /* a list of the same form */
    if (!takt_fact_cpus(root, "/sys/devices/system/node/online", &ids))
        return;
    for (int id = 0; id < TAKT_CPU_MAX && t->node_count < TAKT_NODES; id++)
        if (takt_cpu_set_has(&ids, id))
            read_node(root, id, t);
}

void takt_topology_read(const char *root, takt_topology *t)
{
    *t = (takt_topology){.threads = 0};
    forget(&t->sockets);
    forget(&t->cores);
    for (int i = 0; i < TAKT_CACHE_LEVELS; i++)
        forget(&t->cache[i]);
    takt_fact_cpus(root, "/sys/devices/system/cpu/online", &t->online);
    for (int cpu = 0; cpu < TAKT_CPU_MAX; cpu++) {
        if (!takt_cpu_set_has(&t->online, cpu))
            continue;
        t->threads++;
        if (!join(root, cpu, "topology/package_cpus_list", &t->sockets))
            join(root, cpu, "topology/core_siblings_list", &t->sockets); /* before Linux 5.3 */
        join(root, cpu, "topology/thread_siblings_list", &t->cores);
        join_caches(root, cpu, t);
    }
    read_nodes(root, t);
}

void takt_cpu_group(const takt_cpu_groups *groups, int first, takt_cpu_set *set)
{
    *set = (takt_cpu_set){{0}};
    for (int cpu = first; cpu >= 0 && cpu < TAKT_CPU_MAX; cpu++)
        if (groups->first[cpu] == first)
            takt_cpu_set_add(set, cpu);
}

const char *takt_cpu_list(const takt_cpu_set *set, char to[static TAKT_CPU_LIST])
{
    size_t length = 0;
    to[0] = '\0';
    for (int cpu = 0; cpu < TAKT_CPU_MAX; cpu++) {
        int last = cpu;
        if (!takt_cpu_set_has(set, cpu))
            continue;
        while (takt_cpu_set_has(set, last + 1))
            last++;
        if (length + 16 > TAKT_CPU_LIST) {
            snprintf(to + length, TAKT_CPU_LIST - length, ",...");
            return to;
        }
        length += (size_t)snprintf(to + length, TAKT_CPU_LIST - length, "%s%d",
                                   length > 0 ? "," : "", cpu);
        if (last > cpu)
            length += (size_t)snprintf(to + length, TAKT_CPU_LIST - length, "-%d", last);
        cpu = last;
    }
    return to;
}
