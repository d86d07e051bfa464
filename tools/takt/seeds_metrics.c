/* seeds_metrics.c - the table Metric, Target, Achieved: that of guide 002, and of the user's
 * file. */
#define _POSIX_C_SOURCE 200809L
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#if defined(__linux__)
#include <elf.h>
#endif

#include "process.h"
#include "seeds.h"

/* One line; `more` means that more is better. */
typedef struct metric {
    const char *name;
    double target, achieved;
    bool more;
    const char *unit;
    double best; /* the most that could be achieved; 0: unknown */
} metric;

static bool is_met(const metric *m)
{
    return m->more ? m->achieved >= m->target : m->achieved <= m->target;
}

static void print(seed_job *j, const metric *m)
{
    const bool is_possible = m->best == 0 || m->best >= m->target;
    const char *verdict = is_met(m) ? "met" : is_possible ? "not met" : "impossible here";
    j->missed += !is_met(m);
    if (j->json)
        printf("%s{\"metric\": \"%s\", \"target\": %g, \"achieved\": %.5g, \"unit\": \"%s\", "
               "\"verdict\": \"%s\"",
               j->has_item ? ",\n  " : "\n  ", m->name, m->target, m->achieved, m->unit, verdict);
    else
        printf("  %-28s %s %8.4g %-10s %10.4g %-10s %s", m->name, m->more ? ">" : "<", m->target,
               m->unit, m->achieved, m->unit, verdict);
    if (m->best > 0)
        printf(j->json ? ", \"best_possible\": %.5g"
                       : "; at most %.4g: its largest step alone needs the rest",
               m->best);
    printf(j->json ? "}" : "\n");
    j->has_item = true;
}

static void heading(seed_job *j, const char *key, const char *of)
{
    j->has_item = false;
    if (j->json)
        printf("\"%s\": [", key);
    else
        printf("\n  %-28s %-21s achieved   (%s)\n", "metric", "  target", of);
}

/* The loaded size of an ELF file: without symbols and debug sections. 0: it is not an ELF file. */
static double loaded_bytes(FILE *file)
{
    double bytes = 0;
#if defined(__linux__) && UINTPTR_MAX > 0xffffffffu
    Elf64_Ehdr head;
    if (fread(&head, sizeof head, 1, file) != 1 || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
        head.e_ident[EI_CLASS] != ELFCLASS64 || fseek(file, (long)head.e_phoff, SEEK_SET) != 0)
        return 0;
    for (int i = 0; i < head.e_phnum; i++) {
        Elf64_Phdr part;
        if (fread(&part, sizeof part, 1, file) != 1)
            return 0;
        bytes += part.p_type == PT_LOAD ? (double)part.p_filesz : 0;
    }
#else
    (void)file;
#endif
    return bytes;
}

/* In MB; with symbols where their part is not known. */
static double size_of_program(void)
{
    char path[4096];
    struct stat s;
    const char *self = tool_self(path, sizeof path);
    FILE *file = fopen(self, "rb");
    const double loaded = file != NULL ? loaded_bytes(file) : 0;
    if (file != NULL)
        fclose(file);
    if (loaded > 0)
        return loaded * 1e-6;
    return stat(self, &s) == 0 ? (double)s.st_size * 1e-6 : 0;
}

/* Guide 002's targets on a model of the size that its models have; case study 2 of guide 001. */
int seed_metrics(seed_job *j)
{
    seed_row r, block;
    int code = seed_measure(j, seed_find("small model, 38k parameters"), NULL, j->threads, &r);
    if (code == TAKT_EXIT_OK)
        code = seed_measure(j, seed_find("encoder layer 128x768"), NULL, j->threads, &block);
    if (code != TAKT_EXIT_OK)
        return code;
    const double median = r.s.latency.median;
    const double start = (r.load_ns + r.plan_ns + r.first_ns) * 1e-6;
    const metric all[] = {
        {"inference", 2, median * 1e-6, false, "ms", 0},
        {"memory without the weights", 100, (double)(r.info.arena + r.info.io) * 1e-3, false, "kB",
         0},
        {"throughput", 500, 1e9 / median, true, "samples/s", 0},
        {"startup: load, plan, first run", 100, start, false, "ms", 0},
        {"program without symbols", 20, size_of_program(), false, "MB", 0},
        {"memory saved by reuse", 4, (double)block.info.unshared / (double)block.info.arena, true,
         "times", (double)block.info.unshared / (double)block.info.lower_bound},
    };
    heading(j, "metrics", "guide 002, small model; guide 001, reuse in an encoder layer");
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        print(j, &all[i]);
    printf(j->json ? "]" : "");
    return TAKT_EXIT_OK;
}

/* ---- the user's own ---- */

typedef struct wish {
    seed_job *j;
    char model[1024];
    int64_t batch;
    struct {
        const char *name;
        double target;
    } wanted[8];
    size_t count;
} wish;

/* {"model": "m.takt", "batch-size": 8, "latency": "2ms", "p99": "5ms", "throughput": 500} */
static takt_status take(void *user, const char *key, const char *value)
{
    static const struct {
        const char *name;
        tool_flag_kind kind;
        double scale;
    } known[] = {{"latency", TAKT_FLAG_TIME, 1e-6}, {"p90", TAKT_FLAG_TIME, 1e-6},
                 {"p99", TAKT_FLAG_TIME, 1e-6},     {"startup", TAKT_FLAG_TIME, 1e-6},
                 {"memory", TAKT_FLAG_BYTES, 1e-3}, {"throughput", TAKT_FLAG_NUMBER, 1}};
    wish *w = user;
    uint64_t number;
    if (strcmp(key, "model") == 0) {
        snprintf(w->model, sizeof w->model, "%s", value);
        return TAKT_OK;
    }
    if (strcmp(key, "batch-size") == 0 && tool_read_number(TAKT_FLAG_COUNT, value, &number)) {
        w->batch = (int64_t)number;
        return TAKT_OK;
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(key, known[i].name) == 0 && w->count < 8 &&
            tool_read_number(known[i].kind, value, &number)) {
            w->wanted[w->count].name = known[i].name;
            w->wanted[w->count++].target = (double)number * known[i].scale;
            return TAKT_OK;
        }
    tool_usage_error(w->j->t, 1003,
                     "model, batch-size, latency \"2ms\", p90, p99, startup, memory \"100K\", "
                     "throughput 500",
                     "\"%s\": %s is not a target", key, value);
    return TAKT_ERR_CANCELLED;
}

static metric achieve(const wish *w, size_t i, const takt_timing *t, const double *start_peak)
{
    const char *name = w->wanted[i].name;
    metric m = {.name = name, .target = w->wanted[i].target, .unit = "ms"};
    if (strcmp(name, "throughput") == 0) {
        m.more = true;
        m.unit = "samples/s";
        m.achieved = (double)w->batch * 1e9 / t->stats.median;
    } else if (strcmp(name, "memory") == 0) {
        m.unit = "kB";
        m.achieved = start_peak[1] * 1e-3;
    } else if (strcmp(name, "startup") == 0) {
        m.achieved = start_peak[0] * 1e-6;
    } else {
        m.achieved = 1e-6 * (name[0] != 'p'                     ? t->stats.median
                             : name[1] == '9' && name[2] == '0' ? t->stats.percentiles[1].value
                                                                : t->stats.percentiles[3].value);
    }
    return m;
}

static int measure_wish(wish *w, tool_bench *b)
{
    takt_timing t;
    takt_plan_info info;
    const takt_timing_options options = {.min_ns = w->j->max_ns, .max_ns = w->j->max_ns};
    const takt_status status = takt_session_time(b->session, &options, &t);
    if (status != TAKT_OK)
        return tool_report_error(w->j->t, takt_session_error(b->session));
    takt_plan_query(b->plan, &info);
    const double start_peak[2] = {b->load_ns + b->plan_ns + t.first_ns, (double)info.peak};
    heading(w->j, "targets", w->model);
    for (size_t i = 0; i < w->count; i++) {
        const metric m = achieve(w, i, &t, start_peak);
        print(w->j, &m);
    }
    printf(w->j->json ? "]" : "");
    takt_timing_free(w->j->t->ctx, &t);
    return TAKT_EXIT_OK;
}

int seed_targets(seed_job *j, const char *path)
{
    wish w = {.j = j, .batch = 1};
    tool_bench b;
    char batch[64];
    const takt_status status = takt_settings_read(j->t->ctx, path, take, &w);
    if (status == TAKT_ERR_CANCELLED)
        return TAKT_EXIT_USAGE;
    int code = tool_finish(j->t, status);
    if (code != TAKT_EXIT_OK)
        return code;
    if (w.model[0] == '\0' || w.count == 0)
        return tool_usage_error(j->t, 1003, "{\"model\": \"m.takt\", \"latency\": \"2ms\"}",
                                "%s names no model, or no target", path);
    const char *args[2] = {w.model, NULL}, **kept = j->t->args;
    j->t->args = args; /* tool_open_model takes the path from there */
    snprintf(batch, sizeof batch, "batch=%lld", (long long)w.batch);
    if (w.batch > 1)
        tool_value_add(j->t, TAKT_F_DIM, TAKT_FROM_FLAG, batch);
    tool_value_add(j->t, TAKT_F_RANDOM, TAKT_FROM_FLAG, "true");
    code = tool_bench_open(j->t, &b);
    j->t->args = kept;
    if (code != TAKT_EXIT_OK)
        return code;
    code = measure_wish(&w, &b);
    tool_bench_close(&b);
    return code;
}
