/* cgroup.c - processors and memory that control groups, version 2 or 1, leave us.
 *
 * A limit anywhere from our group up to the root applies; the lowest counts. */
#include <stdio.h>
#include <string.h>

#include "os/facts.h"

/* One kind of limit: reads it from a folder and lowers `least` (0: none yet). */
typedef void limit_fn(const char *root, const char *folder, void *least);

/* Our group's path for `controller` ("" for version 2) from the lines "id:controllers:path". */
static bool group_path(const char *text, const char *controller, char *to, size_t size)
{
    const size_t length = strlen(controller);
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        const char *names = strchr(line, ':');
        const char *path = names != NULL ? strchr(names + 1, ':') : NULL;
        if (path == NULL)
            return false;
        bool is_ours = false;
        for (const char *at = names + 1; at <= path && !is_ours; at += strcspn(at, ",:") + 1)
            is_ours = strcspn(at, ",:") == length && strncmp(at, controller, length) == 0;
        if (!is_ours)
            continue;
        const size_t count = strcspn(path + 1, "\n");
        if (count >= size)
            return false;
        memcpy(to, path + 1, count);
        to[count] = '\0';
        return true;
    }
    return false;
}

/* Calls `limit` for our group's folder below `mount` and all folders above it. */
static void climb(const char *root, const char *mount, const char *controller, limit_fn *limit,
                  void *least)
{
    char text[TAKT_FACT_TEXT], path[TAKT_FACT_PATH / 2], folder[TAKT_FACT_PATH];
    if (!takt_fact_text(root, "/proc/self/cgroup", text, sizeof text) ||
        !group_path(text, controller, path, sizeof path))
        return;
    for (;;) {
        const size_t length = strlen(path);
        snprintf(folder, sizeof folder, "%s%s", mount, strcmp(path, "/") == 0 ? "" : path);
        limit(root, folder, least);
        char *slash = strrchr(path, '/');
        if (slash == NULL || length <= 1)
            return;
        slash[slash == path] = '\0'; /* "/a/b", "/a", "/" */
    }
}

static bool number_in(const char *root, const char *folder, const char *name, uint64_t *value)
{
    char path[TAKT_FACT_PATH];
    const int length = snprintf(path, sizeof path, "%s/%s", folder, name);
    return length > 0 && (size_t)length < sizeof path && takt_fact_number(root, path, value);
}

static void lower_cpus(double *least, uint64_t quota, uint64_t period)
{
    if (quota == 0 || period == 0)
        return;
    const double cpus = (double)quota / (double)period;
    if (*least == 0 || cpus < *least)
        *least = cpus;
}

/* "max 100000", or "150000 100000". */
static void cpu_v2(const char *root, const char *folder, void *least)
{
    char path[TAKT_FACT_PATH], text[64];
    uint64_t quota, period;
    const int length = snprintf(path, sizeof path, "%s/cpu.max", folder);
    if (length < 0 || (size_t)length >= sizeof path ||
        !takt_fact_text(root, path, text, sizeof text) || !takt_fact_parse(text, &quota))
        return;
    const char *space = strchr(text, ' ');
    if (space != NULL && takt_fact_parse(space + 1, &period))
        lower_cpus(least, quota, period);
}

static void cpu_v1(const char *root, const char *folder, void *least)
{
    uint64_t quota, period; /* "no quota" is written as -1, which does not parse here */
    if (number_in(root, folder, "cpu.cfs_quota_us", &quota) &&
        number_in(root, folder, "cpu.cfs_period_us", &period))
        lower_cpus(least, quota, period);
}

static void lower_bytes(uint64_t *least, uint64_t bytes)
{
    if (bytes < UINT64_C(1) << 62 && (*least == 0 || bytes < *least)) /* "none" is near 2^63 */
        *least = bytes;
}

static void memory_v2(const char *root, const char *folder, void *least)
{
    uint64_t bytes;
    if (number_in(root, folder, "memory.max", &bytes))
        lower_bytes(least, bytes);
}

static void memory_v1(const char *root, const char *folder, void *least)
{
    uint64_t bytes;
    if (number_in(root, folder, "memory.limit_in_bytes", &bytes))
        lower_bytes(least, bytes);
}

double takt_cgroup_cpus(const char *root)
{
    double least = 0;
    climb(root, "/sys/fs/cgroup", "", cpu_v2, &least);
    climb(root, "/sys/fs/cgroup/cpu", "cpu", cpu_v1, &least);
    return least;
}

uint64_t takt_cgroup_memory(const char *root)
{
    uint64_t least = 0;
    climb(root, "/sys/fs/cgroup", "", memory_v2, &least);
    climb(root, "/sys/fs/cgroup/memory", "memory", memory_v1, &least);
    return least;
}
