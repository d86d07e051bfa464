/* topology.c - sockets, cores, caches, nodes and GPUs of simulated machines and this one. */
#define _GNU_SOURCE
#include "os/topology.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "os/gpu.h"
#include "test.h"

static char root[PATH_MAX / 2];
static takt_topology t;

/* Writes a file beneath the made-up root, with its folders. */
static void put(const char *path, const char *text)
{
    char whole[PATH_MAX];
    snprintf(whole, sizeof whole, "%s%s", root, path);
    for (char *slash = whole + strlen(root) + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        mkdir(whole, 0777);
        *slash = '/';
    }
    FILE *f = fopen(whole, "w");
    if (EXPECT(f != NULL, "%s", whole)) {
        fputs(text, f);
        fclose(f);
    }
}

static void new_root(void)
{
    const char *tmp = getenv("TAKT_TEST_TMP");
    snprintf(root, sizeof root, "%s/topology-XXXXXX", tmp != NULL ? tmp : "/tmp");
    EXPECT(mkdtemp(root) != NULL);
}

static void put_cpu(int cpu, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/%s", cpu, name);
    put(path, text);
}

static const char *group(const takt_cpu_groups *g, int first)
{
    static char list[TAKT_CPU_LIST];
    takt_cpu_set set;
    takt_cpu_group(g, first, &set);
    return takt_cpu_list(&set, list);
}

/* Two sockets of two cores of two threads: cores are {0,4} {1,5} | {2,6} {3,7}. */
static void two_sockets(void)
{
    static const char *const pairs[] = {"0,4", "1,5", "2,6", "3,7"};
    static const char *const halves[] = {"0-1,4-5", "2-3,6-7"};
    new_root();
    put("/sys/devices/system/cpu/online", "0-7\n");
    for (int cpu = 0; cpu < 8; cpu++) {
        const char *pair = pairs[cpu % 4], *half = halves[cpu % 4 / 2];
        put_cpu(cpu, cpu < 4 ? "topology/package_cpus_list" : "topology/core_siblings_list", half);
        put_cpu(cpu, "topology/thread_siblings_list", pair);
        put_cpu(cpu, "cache/index0/type", "Data\n");
        put_cpu(cpu, "cache/index0/level", "1\n");
        put_cpu(cpu, "cache/index0/shared_cpu_list", pair);
        put_cpu(cpu, "cache/index1/type", "Instruction\n");
        put_cpu(cpu, "cache/index1/level", "1\n");
        put_cpu(cpu, "cache/index1/shared_cpu_list", "0-7");
        put_cpu(cpu, "cache/index2/type", "Unified\n");
        put_cpu(cpu, "cache/index2/level", "3\n");
        put_cpu(cpu, "cache/index2/shared_cpu_list", half);
    }
    put("/sys/devices/system/node/online", "0-2\n");
    put("/sys/devices/system/node/node0/cpulist", "0-1,4-5\n");
    put("/sys/devices/system/node/node0/meminfo", "Node 0 MemTotal:       2048 kB\nNode 0 X: 1\n");
    put("/sys/devices/system/node/node1/cpulist", "2-3,6-7\n");
    takt_topology_read(root, &t);
    EXPECT(t.threads == 8 && t.sockets.count == 2 && t.cores.count == 4, "%d sockets, %d cores",
           t.sockets.count, t.cores.count);
    EXPECT_EQ(t.cache[0].count, 4);
    EXPECT_EQ(t.cache[1].count, 0);
    EXPECT_EQ(t.cache[2].count, 2);
    EXPECT(strcmp(group(&t.cache[0], 1), "1,5") == 0, "%s", group(&t.cache[0], 1));
    EXPECT(strcmp(group(&t.cache[2], 2), "2-3,6-7") == 0, "%s", group(&t.cache[2], 2));
    EXPECT(group(&t.cache[2], 3)[0] == '\0', "3 is not the lowest of a group");
    EXPECT_EQ(t.node_count, 2);
    EXPECT_EQ(t.node[0].memory_bytes, 2048 * 1024);
    EXPECT_EQ(t.node[1].memory_bytes, 0);
    EXPECT_EQ(t.node[1].id, 1);
}

/* Where the kernel publishes nothing. */
static void nothing(void)
{
    new_root();
    takt_topology_read(root, &t);
    EXPECT_EQ(t.threads, 0);
    EXPECT_EQ(t.sockets.count, 0);
    EXPECT_EQ(t.cores.count, 0);
    EXPECT_EQ(t.node_count, 0);
    EXPECT_EQ(t.cache[0].count, 0);
    EXPECT_EQ(t.cores.first[0], -1);
}

static void this_machine(void)
{
    takt_topology_read("", &t);
    if (t.cores.count == 0)
        return; /* no such files here */
    EXPECT_IS(t.threads, >=, t.cores.count);
    EXPECT_IS(t.cores.count, >=, t.sockets.count);
    for (int cpu = 0; cpu < TAKT_CPU_MAX; cpu++)
        EXPECT(t.cores.first[cpu] <= cpu, "processor %d", cpu);
}

static void lists(void)
{
    char list[TAKT_CPU_LIST];
    takt_cpu_set set = {{0}};
    EXPECT_EQ(takt_cpu_list(&set, list)[0], '\0');
    for (int cpu = 0; cpu < TAKT_CPU_MAX; cpu += 2)
        takt_cpu_set_add(&set, cpu);
    takt_cpu_list(&set, list);
    EXPECT(strncmp(list, "0,2,4", 5) == 0 && strstr(list, ",...") != NULL, "%s", list);
    set = (takt_cpu_set){{0}};
    takt_cpu_set_add(&set, TAKT_CPU_MAX - 2);
    takt_cpu_set_add(&set, TAKT_CPU_MAX - 1);
    EXPECT(strcmp(takt_cpu_list(&set, list), "1022-1023") == 0, "%s", list);
}

/* By name where the driver lists them, else by the driver's own first line. */
static void gpus(void)
{
    takt_gpu found[TAKT_GPUS];
    new_root();
    EXPECT_EQ(takt_gpu_read(root, found), 0);
    put("/proc/driver/nvidia/version", "NVRM version: Some Module  1.2\nGCC version:  13\n");
    EXPECT_EQ(takt_gpu_read(root, found), 1);
    EXPECT(strcmp(found[0].name, "NVRM version: Some Module  1.2") == 0, "%s", found[0].name);
    put("/proc/driver/nvidia/gpus/0000:01:00.0/information",
        "Model: \t\t Some GPU 3\nIRQ:   \t\t 10\n");
    put("/proc/driver/nvidia/gpus/0000:02:00.0/information",
        "Model: \t\t Some GPU 3\nIRQ:   \t\t 11\n");
    put("/proc/driver/nvidia/gpus/0000:03:00.0/information", "IRQ:   \t\t 12\n");
    EXPECT_EQ(takt_gpu_read(root, found), 2);
    EXPECT(strcmp(found[1].name, "Some GPU 3") == 0 && found[1].memory_bytes == 0, "%s",
           found[1].name);
}

TEST_MAIN(two_sockets, nothing, this_machine, lists, gpus)
