/* machine.c - facts about made-up machines and this one; pages, guards, FP state, the clock. */
#define _GNU_SOURCE
#include <errno.h>
#include <fenv.h>
#include <limits.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "measure/bench.h"
#include "measure/session/measure.h"
#include "os/cpu.h"
#include "os/facts.h"
#include "os/fp.h"
#include "os/memory.h"
#include "os/os.h"
#include "os/processes.h"
#include "test.h"

static char root[PATH_MAX / 2];

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
    EXPECT(f != NULL, "%s", whole);
    if (f != NULL) {
        fputs(text, f);
        fclose(f);
    }
}

static void new_root(void)
{
    const char *tmp = getenv("TAKT_TEST_TMP");
    snprintf(root, sizeof root, "%s/machine-XXXXXX", tmp != NULL ? tmp : "/tmp");
    EXPECT(mkdtemp(root) != NULL);
}

static void drop_root(void)
{
    char command[PATH_MAX];
    snprintf(command, sizeof command, "rm -r '%s'", root);
    EXPECT_EQ(system(command), 0);
}

static takt_cpu_set range(int first, int last)
{
    takt_cpu_set set = {{0}};
    for (int cpu = first; cpu <= last; cpu++)
        takt_cpu_set_add(&set, cpu);
    return set;
}

/* 4 strong cores of 2 threads each (0-7), 4 small ones (8-11). */
static void hybrid_x86(void)
{
    new_root();
    char path[128], text[32];
    for (int cpu = 0; cpu < 12; cpu++) {
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list",
                 cpu);
        const int first = cpu < 8 ? cpu / 2 * 2 : cpu, last = cpu < 8 ? first + 1 : cpu;
        snprintf(text, sizeof text, "%d-%d\n", first, last);
        put(path, text);
    }
    put("/sys/devices/system/cpu/online", "0-11\n");
    put("/sys/devices/cpu_atom/cpus", "8-11\n");
    put("/proc/cpuinfo", "processor\t: 0\nmodel name\t: Some CPU @ 3 GHz\nflags : x\n");
    put("/proc/meminfo", "MemTotal:       16384 kB\nMemFree: 1 kB\nHugepagesize:    2048 kB\n");
    put("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
    for (int i = 0; i < 4; i++) {
        static const char *const rows[][4] = {{"1", "Data", "48K", "0-1"},
                                              {"1", "Instruction", "32K", "0-1"},
                                              {"2", "Unified", "1280K", "0-1"},
                                              {"3", "Unified", "24M", "0-11"}};
        static const char *const names[] = {"level", "type", "size", "shared_cpu_list"};
        for (int k = 0; k < 4; k++) {
            snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", i,
                     names[k]);
            put(path, rows[i][k]);
        }
        snprintf(path, sizeof path,
                 "/sys/devices/system/cpu/cpu0/cache/index%d/coherency_line_size", i);
        put(path, "64\n");
    }
    takt_cpu_facts f;
    takt_cpu_set usable = range(0, 11);
    takt_cpu_read_at(root, &usable, &f);
    EXPECT(f.logical == 12 && f.usable == 12 && f.usable_cores == 8 && f.fast_cores == 4);
    EXPECT(f.is_hybrid && f.quota == 0 && takt_cpu_threads(&f) == 4);
    EXPECT(strcmp(f.model, "Some CPU @ 3 GHz") == 0, "%s", f.model);
    EXPECT(f.data[0].bytes == 48 << 10 && f.data[1].bytes == 1280 << 10);
    EXPECT(f.data[2].bytes == 24 << 20 && f.data[2].shared_by == 12 && f.data[3].bytes == 0);
    EXPECT(f.data[0].line_bytes == 64 && f.data[0].shared_by == 2);
    EXPECT(f.memory_bytes == 16384 * 1024 && f.memory_limit == 0);
    EXPECT(f.huge_page_bytes == 2 << 20 && strcmp(f.huge_pages, "madvise") == 0);

    usable = range(1, 3); /* one thread of core 0, both of core 1 */
    takt_cpu_read_at(root, &usable, &f);
    EXPECT(f.usable == 3 && f.usable_cores == 2 && !f.is_hybrid && takt_cpu_threads(&f) == 2);
    usable = range(8, 11); /* only small cores: then they count as the large ones */
    takt_cpu_read_at(root, &usable, &f);
    EXPECT(f.usable_cores == 4 && f.fast_cores == 4 && !f.is_hybrid);
    usable = range(5, 5);
    takt_cpu_read_at(root, &usable, &f);
    EXPECT(takt_cpu_threads(&f) == 1);
    drop_root();
}

static void hybrid_arm(void)
{
    new_root();
    char path[128];
    static const char *const capacity[] = {"384", "384", "384", "384", "900", "900", "900", "1024"};
    for (int cpu = 0; cpu < 8; cpu++) {
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cpu_capacity", cpu);
        put(path, capacity[cpu]);
    }
    put("/proc/cpuinfo", "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd40\n");
    takt_cpu_facts f;
    const takt_cpu_set usable = range(0, 7);
    takt_cpu_read_at(root, &usable, &f);
    EXPECT(f.is_hybrid && f.usable_cores == 8 && f.fast_cores == 4, "%d", f.fast_cores);
    EXPECT(strcmp(f.model, "Neoverse-V1") == 0, "%s", f.model);
    put("/proc/cpuinfo", "CPU implementer\t: 0x99\nCPU part\t: 0x123\n");
    takt_cpu_read_at(root, &usable, &f);
    EXPECT(strstr(f.model, "0x123") != NULL && strstr(f.model, "0x99") != NULL, "%s", f.model);
    drop_root();
}

static void cgroups(void)
{
    new_root();
    takt_cpu_facts f;
    const takt_cpu_set usable = range(0, 15);
    put("/proc/self/cgroup", "0::/a/b\n");
    put("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
    put("/sys/fs/cgroup/a/b/memory.max", "max\n");
    takt_cpu_read_at(root, &usable, &f);
    EXPECT(f.quota == 0 && f.memory_limit == 0 && takt_cpu_threads(&f) == 16);
    put("/sys/fs/cgroup/a/cpu.max", "350000 100000\n");
    put("/sys/fs/cgroup/a/b/cpu.max", "800000 100000\n");
    put("/sys/fs/cgroup/a/memory.max", "1000000\n");
    put("/sys/fs/cgroup/a/b/memory.max", "5000000\n");
    takt_cpu_read_at(root, &usable, &f);
    EXPECT(f.quota == 3.5 && takt_cpu_threads(&f) == 3 && f.memory_limit == 1000000);
    put("/sys/fs/cgroup/a/b/cpu.max", "20000 100000\n");
    takt_cpu_read_at(root, &usable, &f);
    EXPECT(f.quota == 0.2 && takt_cpu_threads(&f) == 1);
    drop_root();

    new_root();
    put("/proc/self/cgroup", "5:memory:/\n4:cpuset:/x\n3:cpu,cpuacct:/c\n0::/\n");
    put("/sys/fs/cgroup/cpu/c/cpu.cfs_quota_us", "-1\n");
    put("/sys/fs/cgroup/cpu/c/cpu.cfs_period_us", "100000\n");
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    takt_cpu_read_at(root, &usable, &f);
    EXPECT(f.quota == 0 && f.memory_limit == 0);
    put("/sys/fs/cgroup/cpu/c/cpu.cfs_quota_us", "200000\n");
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "777\n");
    takt_cpu_read_at(root, &usable, &f);
    EXPECT(f.quota == 2 && f.memory_limit == 777);
    put("/proc/self/cgroup", "garbage\n\n::\n");
    takt_cpu_read_at(root, &usable, &f);
    EXPECT_EQ(f.quota, 0);
    drop_root();
}

static void empty_machine(void)
{
    takt_cpu_facts f;
    const takt_cpu_set usable = range(0, 3), nothing = {{0}};
    takt_cpu_read_at("/nowhere", &usable, &f);
    EXPECT(f.logical == 4 && f.usable_cores == 4 && takt_cpu_threads(&f) == 4);
    EXPECT(strcmp(f.model, "unknown") == 0 && f.page_bytes > 0);
    takt_cpu_read_at("/nowhere", &nothing, &f);
    EXPECT(takt_cpu_threads(&f) == 1);
}

static void this_machine(void)
{
    takt_cpu_facts f;
    takt_cpu_read(&f);
    EXPECT(f.usable >= 1 && f.usable_cores >= 1 && f.usable_cores <= f.usable);
    EXPECT(f.logical >= f.usable && f.memory_bytes > 0 && takt_memory_allowed() > 0);
    EXPECT(f.page_bytes == (size_t)sysconf(_SC_PAGESIZE) && f.model[0] != '\0');
    const uint64_t start = takt_os_now_ns(NULL);
    usleep(2000);
    const uint64_t passed = takt_os_now_ns(NULL) - start;
    EXPECT(passed >= 2000000 && passed < 10000000000u, "%llu", (unsigned long long)passed);
    char text[64];
    EXPECT(strlen(takt_os_reason(ENOENT, text, sizeof text)) > 3, "%s", text);
}

static void parses(void)
{
    uint64_t v;
    EXPECT(takt_fact_parse("32K", &v) && v == 32768 && takt_fact_parse("1G", &v) && v == 1 << 30);
    EXPECT(!takt_fact_parse("", &v) && !takt_fact_parse("max", &v) && !takt_fact_parse("-1", &v));
    EXPECT(!takt_fact_parse("99999999999999999999", &v));
    EXPECT(!takt_fact_parse("99999999999999999K", &v));
}

static void pages(void)
{
    const size_t page = takt_page_size();
    void *at;
    EXPECT(takt_pages_get(3 * page + 1, &at) == 0);
    ((char *)at)[3 * page] = 1;
    EXPECT(takt_pages_protect(at, page, TAKT_PAGE_READ) == 0 && ((char *)at)[0] == 0);
    EXPECT_EQ(takt_pages_protect(at, page, TAKT_PAGE_WRITE), 0);
    ((char *)at)[0] = 1;
    takt_pages_put(at, 3 * page + 1);
    takt_pages_put(NULL, 5);
    EXPECT(takt_pages_get(SIZE_MAX, &at) == ENOMEM && at == NULL);
    for (int at_end = 0; at_end < 2; at_end++) {
        takt_guarded g;
        EXPECT(takt_guarded_get(100, at_end, &g) == 0);
        memset(g.at, 7, 100);
        EXPECT(((uintptr_t)g.at + (at_end ? 100 : 0)) % page == 0);
        takt_guarded_put(&g);
        takt_guarded_put(&g);
    }
    takt_guarded g;
    EXPECT(takt_guarded_get(SIZE_MAX - 100, true, &g) == ENOMEM && g.base == NULL);
}

static void huge_pages(void)
{
    const size_t size = 4 << 20;
    for (int want = TAKT_HUGE_OFF; want <= TAKT_HUGE_EXPLICIT; want++) {
        void *at;
        takt_huge_pages got;
        char reason[TAKT_HUGE_REASON];
        EXPECT(takt_pages_get_huge(size, (takt_huge_pages)want, &at, &got, reason) == 0);
        memset(at, 1, size);
        EXPECT((int)got <= want, "never more than asked for");
        EXPECT(((int)got == want) == (reason[0] == '\0'), "wanted %d, got %d: \"%s\"", want,
               (int)got, reason);
        takt_pages_put(at, size);
    }
}

static void fp_state(void)
{
    const uint64_t before = takt_fp_enter();
    volatile float smallest = 0x1p-149f, product = smallest * 1;
    EXPECT(product == 0x1p-149f);
    takt_fp_leave(before);
    EXPECT(takt_fp_enter() == before);
    takt_fp_leave(before);
}

static bool rounds_to_nearest(void)
{
    /* The sum is volatile as well: clang moved the addition past the change of the state. */
    volatile float one = 1, most_of_a_step = 0x1.8p-24f, sum = one + most_of_a_step;
    return sum > 1;
}

/* A caller's rounding mode (towards zero) is restored, and does not affect Takt meanwhile. */
static void fp_state_of_caller(void)
{
    const int usual = fegetround();
    EXPECT_EQ(fesetround(FE_TOWARDZERO), 0);
    const uint64_t before = takt_fp_enter();
    const bool within = rounds_to_nearest();
    takt_fp_leave(before);
    const bool after = rounds_to_nearest();
    fesetround(usual);
    EXPECT(within);
    EXPECT(!after);
}

/* Load of processors 0 and 1 alone; kernel threads are recognised. */
static void others(void)
{
    takt_ctx *ctx;
    takt_ticks before, after;
    takt_process_list first, second;
    takt_busy busiest[TAKT_BUSIEST];
    const takt_cpu_set two = range(0, 1);
    new_root();
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    put("/proc/stat", "cpu  900 0 0 900 0 0 0 0 0 0\ncpu0 100 0 10 500 5 0 0 7 0 0\n"
                      "cpu1 100 0 10 500 5 0 0 3 0 0\ncpu2 700 0 0 0 0 0 0 0 0 0\nintr 1\n");
    put("/proc/7/stat", "7 (kworker/0:1) S 2 0 0 0 -1 69238880 0 0 0 0 0 100 0 0 20 0 1 0 3 0\n");
    put("/proc/8/stat", "8 (a (b) c) S 2 0 0 0 -1 4194304 0 0 0 0 50 50 0 0 20 0 1 0 3 0 0\n");
    takt_ticks_read_at(root, &two, &before);
    EXPECT(before.processors == 2 && before.steal == 10 && before.busy == 220 &&
           before.idle == 1010);
    EXPECT_OK(ctx, takt_processes_read(ctx, root, &first));
    put("/proc/stat", "cpu  900 0 0 900 0 0 0 0 0 0\ncpu0 200 0 10 500 5 0 0 7 0 0\n"
                      "cpu1 150 0 10 540 5 0 0 13 0 0\ncpu2 900 0 0 0 0 0 0 0 0 0\nintr 1\n");
    put("/proc/7/stat", "7 (kworker/0:1) S 2 0 0 0 -1 69238880 0 0 0 0 0 150 0 0 20 0 1 0 3 0\n");
    put("/proc/8/stat", "8 (a (b) c) S 2 0 0 0 -1 4194304 0 0 0 0 60 50 0 0 20 0 1 0 3 0 0\n");
    takt_ticks_read_at(root, &two, &after);
    EXPECT_OK(ctx, takt_processes_read(ctx, root, &second));
    const long hertz = sysconf(_SC_CLK_TCK);
    after.when_ns = before.when_ns + (uint64_t)(100 * 1000000000ll / hertz);
    after.own_ns = before.own_ns + (uint64_t)(30 * 1000000000ll / hertz);
    second.when_ns = first.when_ns + 1000000000;
    const takt_other_load o = takt_ticks_between(&before, &after);
    EXPECT(o.usable == 2 && fabs(o.steal_pct - 5) < 1e-9, "%g", o.steal_pct);
    EXPECT(fabs(o.processors - 1.2) < 1e-6, "%g", o.processors);
    EXPECT(takt_other_load_disturbs(&o, 1) && takt_noise_grade(0.1, &o) == 'D');
    put("/proc/loadavg", "0.20 0.18 0.12 3/80 11206\n");
    takt_ticks_read_at(root, &two, &before);
    put("/proc/loadavg", "0.20 0.18 0.12 2/80 11207\n");
    takt_ticks_read_at(root, &two, &after);
    after.when_ns = before.when_ns + 1000000; /* too short for ticks: one other process was seen
                                               * twice */
    EXPECT(takt_ticks_between(&before, &after).processors == 1);
    const takt_other_load quiet = {.usable = 2, .processors = 0.02},
                          some = {.usable = 4, .processors = 0.2};
    EXPECT(!takt_other_load_disturbs(&quiet, 2) && takt_noise_grade(0.1, &quiet) == 'A');
    EXPECT(!takt_other_load_disturbs(&some, 2) && takt_other_load_disturbs(&some, 4));
    EXPECT(takt_noise_grade(0.1, &some) == 'B' && takt_noise_grade(3, &some) == 'C');
    EXPECT(takt_processes_busiest(&first, &second, busiest) == 2);
    EXPECT(busiest[0].id == 7 && busiest[0].is_kernel &&
           strcmp(busiest[0].name, "kworker/0:1") == 0);
    EXPECT(busiest[1].id == 8 && !busiest[1].is_kernel && strcmp(busiest[1].name, "a (b) c") == 0);
    takt_processes_free(ctx, &first);
    takt_processes_free(ctx, &second);
    takt_ctx_destroy(ctx);
    drop_root();
}

/* Without /proc neither the load nor the ticks of other processes can be read. */
static void unknown_is_not_quiet(void)
{
    const takt_other_load idle = {.usable = 4}, unknown = {0};
    const takt_environment calm = {.load = 0}, blind = {.load = -1};
    EXPECT(takt_environment_grade(&calm, &idle) == 'A');
    EXPECT(takt_environment_grade(&blind, &idle) == '?');
    EXPECT(takt_environment_grade(&calm, &unknown) == '?');
}

TEST_MAIN(unknown_is_not_quiet, others, hybrid_x86, hybrid_arm, cgroups, empty_machine,
          this_machine, parses, pages, huge_pages, fp_state, fp_state_of_caller)
