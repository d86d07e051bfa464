/* counter.c - perf_event_open on Linux; elsewhere nothing is counted. */
#define _GNU_SOURCE
#include "os/counter.h"

#include <errno.h>
#include <string.h>

static const char *const names[TAKT_EVENTS] = {"instructions", "cycles",    "cache-reads",
                                               "cache-misses", "branches",  "branch-misses",
                                               "l1-reads",     "l1-misses", "ll-misses"};

const char *takt_event_name(takt_event event)
{
    return (unsigned)event < TAKT_EVENTS ? names[event] : "unknown";
}

takt_event takt_event_find(const char *name)
{
    int event = 0;
    while (event < TAKT_EVENTS && strcmp(names[event], name) != 0)
        event++;
    return (takt_event)event;
}

bool takt_event_is_miss(takt_event event)
{
    return event == TAKT_EVENT_CACHE_MISSES || event == TAKT_EVENT_BRANCH_MISSES ||
           event == TAKT_EVENT_L1_MISSES || event == TAKT_EVENT_LL_MISSES;
}

#if defined(__linux__)

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Reads of a cache: all, or those that miss it. */
#define READS(cache, result)                                                                       \
    (PERF_COUNT_HW_CACHE_##cache | PERF_COUNT_HW_CACHE_OP_READ << 8 |                              \
     PERF_COUNT_HW_CACHE_RESULT_##result << 16)

int takt_counter_open(takt_event event)
{
    static const uint64_t configs[TAKT_EVENTS] = {PERF_COUNT_HW_INSTRUCTIONS,
                                                  PERF_COUNT_HW_CPU_CYCLES,
                                                  PERF_COUNT_HW_CACHE_REFERENCES,
                                                  PERF_COUNT_HW_CACHE_MISSES,
                                                  PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
                                                  PERF_COUNT_HW_BRANCH_MISSES,
                                                  READS(L1D, ACCESS),
                                                  READS(L1D, MISS),
                                                  READS(LL, MISS)};
    if ((unsigned)event >= TAKT_EVENTS)
        return -EINVAL;
    const bool is_cache = event >= TAKT_EVENT_L1_READS;
    struct perf_event_attr attributes = {.type = is_cache ? PERF_TYPE_HW_CACHE : PERF_TYPE_HARDWARE,
                                         .size = sizeof attributes,
                                         .config = configs[event],
                                         .disabled = 1,
                                         .exclude_kernel = 1,
                                         .exclude_hv = 1,
                                         .inherit = 1,
                                         .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED |
                                                        PERF_FORMAT_TOTAL_TIME_RUNNING};
    const long fd = syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    return fd < 0 ? -errno : (int)fd;
}

void takt_counter_close(int counter)
{
    if (counter >= 0)
        close(counter);
}

void takt_counter_begin(int counter)
{
    ioctl(counter, PERF_EVENT_IOC_RESET, 0);
    ioctl(counter, PERF_EVENT_IOC_ENABLE, 0);
}

bool takt_counter_end(int counter, uint64_t *value)
{
    ioctl(counter, PERF_EVENT_IOC_DISABLE, 0);
    return takt_counter_look(counter, value);
}

bool takt_counter_look(int counter, uint64_t *value)
{
    uint64_t read_back[3] = {0}; /* value, time enabled, time running */
    const bool good = read(counter, read_back, sizeof read_back) == (ssize_t)sizeof read_back;
    *value = read_back[0];
    return good && read_back[1] == read_back[2];
}

#else

int takt_counter_open(takt_event event)
{
    (void)event;
    return -ENOSYS;
}

void takt_counter_close(int counter)
{
    (void)counter;
}

void takt_counter_begin(int counter)
{
    (void)counter;
}

bool takt_counter_end(int counter, uint64_t *value)
{
    return takt_counter_look(counter, value);
}

bool takt_counter_look(int counter, uint64_t *value)
{
    (void)counter;
    *value = 0;
    return false;
}

#endif
