/* processes.c - reads the processor time of every process, twice, and compares. */
#define _POSIX_C_SOURCE 200809L
#include "os/processes.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/ctx.h"
#include "base/mem.h"
#include "os/facts.h"

enum { KERNEL_THREAD = 0x200000 }; /* PF_KTHREAD of the flags */

/* "42 (name) S 1 ... utime stime ...": the name may hold anything, so its end is the last ")". */
static bool parse(const char *text, takt_process *p)
{
    const char *name = strchr(text, '('), *end = strrchr(text, ')');
    uint64_t value;
    if (name == NULL || end == NULL || end < name)
        return false;
    snprintf(p->name, sizeof p->name, "%.*s", (int)(end - name - 1), name + 1);
    const char *at = end + 1;
    for (int field = 3; field <= 15 && *at != '\0'; field++) {
        at += strspn(at, " ");
        if (field == 9 && takt_fact_parse(at, &value))
            p->is_kernel = (value & KERNEL_THREAD) != 0;
        if (field >= 14 && takt_fact_parse(at, &value))
            p->ticks += value;
        at += strcspn(at, " ");
    }
    return true;
}

static takt_status add(takt_ctx *ctx, const char *root, const char *name, takt_process_list *list)
{
    char path[64], text[TAKT_FACT_TEXT];
    uint64_t id;
    void *at = list->at;
    if (!takt_fact_parse(name, &id) || id == 0 || id > INT32_MAX)
        return TAKT_OK;
    takt_process p = {.id = (int)id};
    snprintf(path, sizeof path, "/proc/%d/stat", p.id);
    if (!takt_fact_text(root, path, text, sizeof text) || !parse(text, &p))
        return TAKT_OK; /* it has exited meanwhile */
    TAKT_TRY(takt_mem_grow(ctx, &at, &list->capacity, list->count + 1, sizeof p));
    list->at = at;
    list->at[list->count++] = p;
    return TAKT_OK;
}

takt_status takt_processes_read(takt_ctx *ctx, const char *root, takt_process_list *list)
{
    char path[TAKT_FACT_PATH];
    takt_status status = TAKT_OK;
    const struct dirent *entry;
    *list = (takt_process_list){.when_ns = ctx->now_ns(ctx->clock_user)};
    snprintf(path, sizeof path, "%s/proc", root);
    DIR *folder = opendir(path);
    if (folder == NULL)
        return TAKT_OK;
    while (status == TAKT_OK && (entry = readdir(folder)) != NULL)
        status = add(ctx, root, entry->d_name, list);
    closedir(folder);
    if (status != TAKT_OK)
        takt_processes_free(ctx, list);
    return status;
}

void takt_processes_free(takt_ctx *ctx, takt_process_list *list)
{
    takt_mem_put(ctx, list->at, list->capacity * sizeof *list->at);
    *list = (takt_process_list){0};
}

static uint64_t ticks_of(const takt_process_list *list, int id)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->at[i].id == id)
            return list->at[i].ticks;
    return 0;
}

size_t takt_processes_busiest(const takt_process_list *before, const takt_process_list *after,
                              takt_busy busiest[TAKT_BUSIEST])
{
    const long hertz = sysconf(_SC_CLK_TCK);
    const double seconds = (double)(after->when_ns - before->when_ns) * 1e-9;
    size_t count = 0;
    for (size_t i = 0; i < after->count && seconds > 0 && hertz > 0; i++) {
        const takt_process *p = &after->at[i];
        const uint64_t earlier = ticks_of(before, p->id);
        if (p->ticks <= earlier || p->id == (int)getpid())
            continue;
        takt_busy b = {.id = p->id, .is_kernel = p->is_kernel};
        b.percent = 100 * (double)(p->ticks - earlier) / (double)hertz / seconds;
        memcpy(b.name, p->name, sizeof b.name);
        size_t at = count < TAKT_BUSIEST ? count++ : TAKT_BUSIEST;
        for (; at > 0 && busiest[at - 1].percent < b.percent; at--)
            if (at < TAKT_BUSIEST)
                busiest[at] = busiest[at - 1];
        if (at < TAKT_BUSIEST)
            busiest[at] = b;
    }
    return count;
}
