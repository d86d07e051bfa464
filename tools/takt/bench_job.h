/* bench_job.h - one `takt benchmark run`: the request, and the results so far. */
#ifndef TAKT_TOOL_BENCH_JOB_H
#define TAKT_TOOL_BENCH_JOB_H

#include <signal.h>

#include "measure.h"
#include "progress.h"

typedef struct bench_job {
    takt_tool *t;
    takt_model *model;
    takt_bench *bench;
    takt_ceilings ceilings;
    takt_bench_info info;
    takt_bench_case usual;
    uint64_t batches[TAKT_TOOL_LIST], threads[TAKT_TOOL_LIST];
    size_t batch_count, thread_count;
    char precisions[8][16]; /* of a list; none: as in the flag */
    size_t precision_count;
    size_t left_out;   /* cases that exceed --memory-limit */
    const char *event; /* to count; NULL: none */
    const char *path;  /* of the result; "-": standard output */
    takt_bench_format format;
    double load_ns;
    tool_progress progress;
    bool has_noted;   /* flags without effect were reported */
    bool cannot_keep; /* interim results cannot be written to the file */
} bench_job;

/* False: a usage error, printed. */
bool bench_take_flags(bench_job *j);
/* "p99=5ms". */
bool bench_take_slo(takt_tool *t, takt_slo *slo);

/* A reader of a plain file sees either the old result or the new one, never a part. */
int bench_save(bench_job *j, const char *path, takt_bench_format format);

/* Writes the results so far if that replaces a file: a process may be killed without warning. */
void bench_keep(bench_job *j);

/* Every combination, in this many fresh processes if more than one, until one fails or is
 * interrupted. */
int bench_measure_all(bench_job *j, uint64_t processes);
/* Until `stop` is set. */
int bench_measure_processes(bench_job *j, uint64_t processes, const volatile sig_atomic_t *stop);
/* Counts the event for every case: `sizes` and threads are those of the case. */
int bench_count_events(bench_job *j, size_t index, const char *sizes);
/* The counters that --counters selects, for one case. */
int bench_count_cache(bench_job *j, size_t index, const char *sizes);
/* Instructions of one run, by simulation; 0 if not available. */
double bench_simulate(takt_tool *t, const char *model, const char *sizes);

#endif
