/* measure.h - what the verbs that measure share: sessions, ceilings, files, figures in flags. */
#ifndef TAKT_TOOL_MEASURE_H
#define TAKT_TOOL_MEASURE_H

#include "run.h"

/* A model that is ready to be run. */
typedef struct tool_bench {
    tool_run run;
    takt_model *model;
    takt_plan *plan;
    takt_session *session;
    double load_ns, plan_ns;
} tool_bench;

/* Loads, plans by the flags, and binds what -i gives or random numbers. */
int tool_bench_open(takt_tool *t, tool_bench *b);
void tool_bench_close(tool_bench *b);

/* The ceilings of this machine, from the cache of this user unless `again`. */
int tool_ceilings(takt_tool *t, bool again, takt_ceilings *ceilings);

/* A growing text to write to a file at the end. */
typedef struct tool_buffer {
    char *at;
    size_t length, capacity;
} tool_buffer;

/* A sink; `user` is the buffer. */
int tool_to_buffer(void *user, const char *text, size_t length);
/* Writes it to `path` ("-": standard output) and frees it; prints what went wrong. */
int tool_buffer_save(const takt_tool *t, tool_buffer *b, const char *path);

uint64_t tool_now_ns(void);
/* "3", "0.5s", "500ms" into nanoseconds: a number alone means seconds. */
bool tool_duration(const takt_tool *t, tool_flag_id id, uint64_t fallback, uint64_t *ns);

#endif
