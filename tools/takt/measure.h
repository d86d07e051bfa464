/* measure.h - shared by the verbs that measure: sessions, ceilings, files, numbers in flags. */
#ifndef TAKT_TOOL_MEASURE_H
#define TAKT_TOOL_MEASURE_H

#include "run.h"

/* A model that is ready to run. */
typedef struct tool_bench {
    tool_run run;
    takt_model *model;
    takt_plan *plan;
    takt_session *session;
    double load_ns, plan_ns;
} tool_bench;

/* Loads, plans by the flags, and binds the files of -i or random numbers. */
int tool_bench_open(takt_tool *t, tool_bench *b);
void tool_bench_close(tool_bench *b);

/* The ceilings of this machine, from the cache of this user unless `again`. */
int tool_ceilings(takt_tool *t, bool again, takt_ceilings *ceilings);

/* Whether they are in that cache; nothing is measured. */
bool tool_ceilings_known(takt_tool *t, takt_ceilings *ceilings);

/* Likewise for disk, network and threads. */
int tool_system_rates(takt_tool *t, bool again, takt_system_rates *rates);

/* `takt benchmark system --measure`, which is also the benchmark of type system. */
int tool_measure_system(takt_tool *t);

/* `takt benchmark run --lengths`. */
int tool_bench_lengths(takt_tool *t);

/* A growing text to write to a file at the end. */
typedef struct tool_buffer {
    char *at;
    size_t length, capacity;
} tool_buffer;

/* A sink; `user` is the buffer. */
int tool_to_buffer(void *user, const char *text, size_t length);
/* With errno as the reason. */
int tool_cannot_write(const takt_tool *t, const char *path);
/* Whether it can be written, checked before anything is measured; "-" always can. If false, an
 * error was printed and `*code` is set. */
bool tool_can_write(const takt_tool *t, const char *path, int *code);
/* A file that may be replaced as a whole: links, pipes and devices are written through. */
bool tool_is_plain(const char *path);
/* Into the existing file at `path`, or a new one; 0 or errno. */
int tool_write_through(const tool_buffer *b, const char *path);
/* Writes it to `path` ("-": standard output) and frees it; prints errors. The old file stays until
 * all is written. */
int tool_buffer_save(const takt_tool *t, tool_buffer *b, const char *path);

uint64_t tool_now_ns(void);
/* "3", "0.5s", "500ms" into nanoseconds: a bare number means seconds. */
bool tool_duration(const takt_tool *t, tool_flag_id id, uint64_t fallback, uint64_t *ns);

/* "1%", "0.5%" or "0.01" into a fraction. */
bool tool_percent(const takt_tool *t, tool_flag_id id, double fallback, double *part);
/* "8", "1,4,8", "1-64*2", "1-9+2": up to TAKT_TOOL_LIST numbers. */
enum { TAKT_TOOL_LIST = 64 };
bool tool_numbers(const takt_tool *t, tool_flag_id id, uint64_t *to, size_t *count);
/* Output path and format from -o and --format: `*path` is "-" unless a file is meant. */
bool tool_bench_format_of(const takt_tool *t, takt_bench_format *format, const char **path);
/* "2026-11-15T10:00:00Z". */
void tool_timestamp(char to[32]);
/* A plan with this many threads and these sizes, by the other flags. TAKT_ERR_CANCELLED: a flag is
 * wrong, and that is printed. */
takt_status tool_try_plan(takt_tool *t, const takt_model *m, const char *sizes, int threads,
                          takt_plan **plan);
/* On this backend instead of the one in the flags, unless NULL. */
takt_status tool_plan_on(takt_tool *t, const takt_model *m, const char *backend, const char *sizes,
                         int threads, takt_plan **plan);
/* The exit code for such a status; prints the error unless it is printed already. */
int tool_planned(const takt_tool *t, takt_status status);
/* Says on standard error if a flag changes nothing in this plan, and why. */
void tool_note_config(const takt_tool *t, const takt_plan *plan);
/* Says on standard error if the result of this file was interrupted. */
void tool_note_incomplete(const takt_tool *t, const takt_bench *b, const char *path);
/* The name of the dimension that --batch-size means, or NULL. */
const char *tool_batch_name(const takt_model *m);
/* Reads the sizes of -D, --shape and the files of -i. If false, an error was printed. */
bool tool_sizes_given(takt_tool *t, const takt_model *m, tool_sizes *sizes);
/* The files of -i into the inputs of the session, random numbers into the others. */
int tool_fill_inputs(takt_tool *t, takt_session *s);

#endif
