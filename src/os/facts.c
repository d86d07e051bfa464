/* facts.c - reading small system files. */
#define _GNU_SOURCE
#include "os/facts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool takt_fact_text(const char *root, const char *path, char *to, size_t size)
{
    char whole[TAKT_FACT_PATH];
    to[0] = '\0';
    const int length = snprintf(whole, sizeof whole, "%s%s", root, path);
    if (length < 0 || (size_t)length >= sizeof whole)
        return false;
    const int fd = open(whole, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    size_t done = 0;
    while (done < size - 1) {
        const ssize_t got = read(fd, to + done, size - 1 - done);
        if (got > 0)
            done += (size_t)got;
        else if (got == 0 || errno != EINTR)
            break;
    }
    close(fd);
    while (done > 0 && to[done - 1] == '\n')
        done--;
    to[done] = '\0';
    return done > 0;
}

static const char *read_number(const char *text, uint64_t *value)
{
    const char *at = text;
    *value = 0;
    for (; *at >= '0' && *at <= '9'; at++) {
        if (__builtin_mul_overflow(*value, 10, value) ||
            __builtin_add_overflow(*value, (uint64_t)(*at - '0'), value))
            return text;
    }
    return at;
}

bool takt_fact_parse(const char *text, uint64_t *value)
{
    const char *end = read_number(text, value);
    const int shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
    if (end == text || *value > UINT64_MAX >> shift)
        return false;
    *value <<= shift;
    return true;
}

bool takt_fact_number(const char *root, const char *path, uint64_t *value)
{
    char text[64];
    *value = 0;
    return takt_fact_text(root, path, text, sizeof text) && takt_fact_parse(text, value);
}

bool takt_fact_cpus(const char *root, const char *path, takt_cpu_set *set)
{
    char text[TAKT_FACT_TEXT];
    *set = (takt_cpu_set){{0}};
    if (!takt_fact_text(root, path, text, sizeof text))
        return false;
    for (const char *at = text; *at != '\0';) {
        uint64_t first, last;
        const char *end = read_number(at, &first);
        if (end == at)
            return false;
        last = first;
        if (*end == '-')
            end = read_number(end + 1, &last);
        for (uint64_t cpu = first; cpu <= last && cpu < TAKT_CPU_MAX; cpu++)
            takt_cpu_set_add(set, (int)cpu);
        at = *end == ',' ? end + 1 : end;
        if (at == end && *at != '\0')
            return false;
    }
    return true;
}

bool takt_fact_field(const char *text, const char *key, char *to, size_t size)
{
    const size_t length = strlen(key);
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, length) != 0)
            continue;
        const char *at = line + length;
        at += strspn(at, " \t:");
        if (at == line + length)
            continue;
        size_t count = strcspn(at, "\n");
        count = count < size ? count : size - 1;
        memcpy(to, at, count);
        to[count] = '\0';
        return true;
    }
    return false;
}

void takt_process_memory(uint64_t *now, uint64_t *most)
{
    char text[TAKT_FACT_TEXT], value[64];
    *now = *most = 0;
    if (!takt_fact_text("", "/proc/self/status", text, sizeof text))
        return;
    if (takt_fact_field(text, "VmRSS", value, sizeof value) && takt_fact_parse(value, now))
        *now *= 1024;
    if (takt_fact_field(text, "VmHWM", value, sizeof value) && takt_fact_parse(value, most))
        *most *= 1024;
}
