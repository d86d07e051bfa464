/* cpu.c - facts about processors, from files that the kernel publishes. */
#define _GNU_SOURCE
#include "os/cpu.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#if defined(__linux__)
#include <sched.h>
#include <sys/syscall.h>
#endif

#include "os/facts.h"

static int lowest(const takt_cpu_set *set, int fallback)
{
    for (int cpu = 0; cpu < TAKT_CPU_MAX; cpu++) {
        if (takt_cpu_set_has(set, cpu))
            return cpu;
    }
    return fallback;
}

static int count(const takt_cpu_set *set)
{
    int total = 0;
    for (size_t i = 0; i < TAKT_CPU_MAX / 64; i++)
        total += __builtin_popcountll(set->bits[i]);
    return total;
}

/* The lowest processor of the core that `cpu` belongs to. */
static int core_of(const char *root, int cpu)
{
    char path[TAKT_FACT_PATH];
    takt_cpu_set siblings;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
    return takt_fact_cpus(root, path, &siblings) ? lowest(&siblings, cpu) : cpu;
}

/* Strength of a processor: the kernel's capacity on Arm; on x86 whether it is a small core. */
static uint64_t strength(const char *root, int cpu, const takt_cpu_set *small)
{
    char path[TAKT_FACT_PATH];
    uint64_t value;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cpu_capacity", cpu);
    if (takt_fact_number(root, path, &value))
        return value;
    return takt_cpu_set_has(small, cpu) ? 512 : 1024;
}

static void read_cores(const char *root, const takt_cpu_set *usable, takt_cpu_facts *f)
{
    takt_cpu_set small, seen = {{0}};
    uint64_t best = 0;
    takt_fact_cpus(root, "/sys/devices/cpu_atom/cpus", &small);
    for (int cpu = 0; cpu < TAKT_CPU_MAX; cpu++) {
        if (!takt_cpu_set_has(usable, cpu))
            continue;
        const uint64_t s = strength(root, cpu, &small);
        best = s > best ? s : best;
    }
    for (int cpu = 0; cpu < TAKT_CPU_MAX; cpu++) {
        if (!takt_cpu_set_has(usable, cpu))
            continue;
        const int core = core_of(root, cpu);
        f->usable++;
        if (takt_cpu_set_has(&seen, core))
            continue;
        takt_cpu_set_add(&seen, core);
        f->usable_cores++;
        /* Cores that differ only slightly, as in their clock, are of one kind. */
        if (strength(root, cpu, &small) * 4 >= best * 3)
            f->fast_cores++;
    }
    f->is_hybrid = f->fast_cores < f->usable_cores;
}

static void read_caches(const char *root, int cpu, takt_cpu_facts *f)
{
    for (int index = 0; index < 16; index++) {
        char folder[128], path[TAKT_FACT_PATH], type[32];
        uint64_t level, bytes, line;
        takt_cpu_set shared;
        snprintf(folder, sizeof folder, "/sys/devices/system/cpu/cpu%d/cache/index%d", cpu, index);
        snprintf(path, sizeof path, "%s/type", folder);
        if (!takt_fact_text(root, path, type, sizeof type))
            return;
        snprintf(path, sizeof path, "%s/level", folder);
        if (strcmp(type, "Instruction") == 0 || !takt_fact_number(root, path, &level) ||
            level < 1 || level > TAKT_CACHE_LEVELS)
            continue;
        takt_cache *cache = &f->data[level - 1];
        snprintf(path, sizeof path, "%s/size", folder);
        if (takt_fact_number(root, path, &bytes))
            cache->bytes = bytes;
        snprintf(path, sizeof path, "%s/coherency_line_size", folder);
        if (takt_fact_number(root, path, &line))
            cache->line_bytes = (int)line;
        snprintf(path, sizeof path, "%s/shared_cpu_list", folder);
        if (takt_fact_cpus(root, path, &shared))
            cache->shared_by = count(&shared);
    }
}

/* Arm reports numbers instead of a name. */
static void arm_model(const char *info, char *to)
{
    static const struct {
        const char *implementer, *part, *name;
    } known[] = {
        {"0x41", "0xd03", "Cortex-A53"},  {"0x41", "0xd08", "Cortex-A72"},
        {"0x41", "0xd0b", "Cortex-A76"},  {"0x41", "0xd0c", "Neoverse-N1"},
        {"0x41", "0xd40", "Neoverse-V1"}, {"0x41", "0xd49", "Neoverse-N2"},
        {"0x41", "0xd4f", "Neoverse-V2"}, {"0x41", "0xd84", "Neoverse-V3"},
        {"0x41", "0xd8e", "Neoverse-N3"}, {"0xc0", "0xac3", "Ampere-1"},
        {"0x61", "0x022", "Apple M1"},    {"0x61", "0x032", "Apple M2"},
    };
    char implementer[16] = "?", part[16] = "?";
    takt_fact_field(info, "CPU implementer", implementer, sizeof implementer);
    takt_fact_field(info, "CPU part", part, sizeof part);
    snprintf(to, TAKT_CPU_TEXT, "processor %s of implementer %s", part, implementer);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(known[i].implementer, implementer) == 0 && strcmp(known[i].part, part) == 0)
            snprintf(to, TAKT_CPU_TEXT, "%s", known[i].name);
    }
}

static void read_model(const char *root, takt_cpu_facts *f)
{
    char info[TAKT_FACT_TEXT];
    if (!takt_fact_text(root, "/proc/cpuinfo", info, sizeof info))
        snprintf(f->model, sizeof f->model, "unknown");
    else if (!takt_fact_field(info, "model name", f->model, sizeof f->model))
        arm_model(info, f->model);
}

static void read_memory(const char *root, takt_cpu_facts *f)
{
    char text[TAKT_FACT_TEXT], value[64];
    uint64_t kib = 0;
    if (takt_fact_text(root, "/proc/meminfo", text, sizeof text)) {
        if (takt_fact_field(text, "MemTotal", value, sizeof value) && takt_fact_parse(value, &kib))
            f->memory_bytes = kib * 1024;
        if (takt_fact_field(text, "Hugepagesize", value, sizeof value) &&
            takt_fact_parse(value, &kib))
            f->huge_page_bytes = (size_t)kib * 1024;
    }
    f->memory_limit = takt_cgroup_memory(root);
    const long page = sysconf(_SC_PAGESIZE);
    f->page_bytes = page > 0 ? (size_t)page : 4096;
    /* "always [madvise] never": the chosen one is in brackets. */
    if (!takt_fact_text(root, "/sys/kernel/mm/transparent_hugepage/enabled", text, sizeof text))
        return;
    const char *open = strchr(text, '['), *close = open != NULL ? strchr(open, ']') : NULL;
    if (close != NULL)
        snprintf(f->huge_pages, sizeof f->huge_pages, "%.*s", (int)(close - open - 1), open + 1);
}

void takt_cpu_read_at(const char *root, const takt_cpu_set *usable, takt_cpu_facts *facts)
{
    takt_cpu_set online;
    *facts = (takt_cpu_facts){.quota = takt_cgroup_cpus(root)};
    read_cores(root, usable, facts);
    const bool is_known = takt_fact_cpus(root, "/sys/devices/system/cpu/online", &online);
    facts->logical = is_known ? count(&online) : facts->usable;
    read_caches(root, lowest(usable, 0), facts);
    read_model(root, facts);
    read_memory(root, facts);
}

void takt_cpu_read(takt_cpu_facts *facts)
{
    takt_cpu_set usable;
    takt_cpu_usable(&usable);
    takt_cpu_read_at("", &usable, facts);
}

int takt_cpu_threads(const takt_cpu_facts *facts)
{
    int threads = facts->fast_cores > 0 ? facts->fast_cores : 1;
    /* Rounded down: threads that share the rest of a quota stall one another. */
    if (facts->quota > 0 && facts->quota < threads)
        threads = (int)facts->quota;
    return threads > 0 ? threads : 1;
}

uint64_t takt_memory_allowed(void)
{
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    uint64_t bytes = UINT64_C(2) << 30; /* where the system does not say */
    if (pages > 0 && page > 0)
        bytes = (uint64_t)pages * (uint64_t)page;
    const uint64_t limit = takt_cgroup_memory("");
    return limit != 0 && limit < bytes ? limit : bytes;
}

#if defined(__linux__)

void takt_cpu_usable(takt_cpu_set *usable)
{
    *usable = (takt_cpu_set){{0}};
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0) {
        takt_cpu_set_add(usable, 0);
        return;
    }
    for (int cpu = 0; cpu < CPU_SETSIZE && cpu < TAKT_CPU_MAX; cpu++) {
        if (CPU_ISSET((size_t)cpu, &set))
            takt_cpu_set_add(usable, cpu);
    }
}

int takt_cpu_bind(int thread_id, int cpu)
{
    cpu_set_t set;
    if (cpu < 0 || cpu >= CPU_SETSIZE)
        return EINVAL;
    CPU_ZERO(&set);
    CPU_SET((size_t)cpu, &set);
    return sched_setaffinity(thread_id, sizeof set, &set) == 0 ? 0 : errno;
}

int takt_cpu_confine(const takt_cpu_set *to)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    for (int cpu = 0; cpu < CPU_SETSIZE && cpu < TAKT_CPU_MAX; cpu++)
        if (takt_cpu_set_has(to, cpu))
            CPU_SET((size_t)cpu, &set);
    return sched_setaffinity(0, sizeof set, &set) == 0 ? 0 : errno;
}

int takt_cpu_here(void)
{
    return sched_getcpu();
}

/* Without `taken`; false: that leaves none. */
static bool subtract(cpu_set_t *from, const takt_cpu_set *taken)
{
    for (int cpu = 0; cpu < CPU_SETSIZE && cpu < TAKT_CPU_MAX; cpu++)
        if (takt_cpu_set_has(taken, cpu))
            CPU_CLR((size_t)cpu, from);
    return CPU_COUNT(from) > 0;
}

/* A thread's mask does not change when its cpuset grows or a processor comes back online. So the
 * thread gets all processors, unless its mask was narrower than `before`. */
static bool give_back(const cpu_set_t *before)
{
    cpu_set_t all, now;
    memset(&all, 0xff, sizeof all);
    if (sched_setaffinity(0, sizeof all, &all) == 0 &&
        sched_getaffinity(0, sizeof now, &now) == 0 && CPU_EQUAL(&now, before))
        return true;
    return sched_setaffinity(0, sizeof *before, before) == 0;
}

bool takt_cpu_leave(int cpu, const takt_cpu_set *taken)
{
    cpu_set_t all, others;
    takt_cpu_set only = {{0}};
    if (sched_getaffinity(0, sizeof all, &all) != 0 || CPU_COUNT(&all) < 2)
        return false;
    takt_cpu_set_add(&only, cpu);
    others = all;
    if (!subtract(&others, taken)) {
        others = all;
        if (!subtract(&others, &only))
            return false;
    }
    const bool is_gone = sched_setaffinity(0, sizeof others, &others) == 0;
    return give_back(&all) && is_gone;
}

int takt_cpu_thread_id(void)
{
    return (int)syscall(SYS_gettid);
}

#else

void takt_cpu_usable(takt_cpu_set *usable)
{
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    *usable = (takt_cpu_set){{0}};
    for (int cpu = 0; cpu == 0 || cpu < online; cpu++)
        takt_cpu_set_add(usable, cpu);
}

int takt_cpu_bind(int thread_id, int cpu)
{
    (void)thread_id;
    (void)cpu;
    return ENOSYS;
}

int takt_cpu_confine(const takt_cpu_set *to)
{
    (void)to;
    return ENOSYS;
}

int takt_cpu_here(void)
{
    return -1;
}

bool takt_cpu_leave(int cpu, const takt_cpu_set *taken)
{
    (void)cpu;
    (void)taken;
    return false;
}

int takt_cpu_thread_id(void)
{
    return 0;
}

#endif
