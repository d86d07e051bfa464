/* compare.h - one `takt benchmark compare`: its sides and settings. */
#ifndef TAKT_TOOL_COMPARE_H
#define TAKT_TOOL_COMPARE_H

#include "measure.h"

enum { COMPARE_SIDES = 16, COMPARE_FOUND = 128 };

typedef struct compare_side {
    const char *name;    /* for the report */
    const char *path;    /* a model or a result */
    const char *backend; /* NULL: that of the flags */
    const char *program; /* another takt; NULL: this one */
    char words[3][32];   /* how it was computed: backend, precision, numerics; empty: unknown */
    bool is_incomplete;  /* a result that was interrupted */
    char grade[8];       /* a result's noise; empty: unknown */
} compare_side;

typedef struct compare_job {
    takt_tool *t;
    compare_side sides[COMPARE_SIDES];
    size_t count;
    double margin, limit; /* limit: 0 if nothing may fail */
    double inject;
    char backends[256]; /* split into words */
    takt_pool *pool;
    takt_comparison found[COMPARE_FOUND]; /* of several, until the report is written */
    takt_compared of[COMPARE_FOUND];
    takt_timing times[COMPARE_FOUND][2];
    char names[COMPARE_FOUND][2][160];
    compare_side kept[COMPARE_FOUND][2]; /* how they were computed */
    size_t found_count;
    const char *case_name; /* "batch 8, 2 threads", where results hold several; or NULL */
    bool gathers;          /* one object or page for all comparisons */
} compare_job;

/* Compares the first with another side. The report is printed or saved; the exit code is the
 * verdict. */
int compare_models(compare_job *j, size_t other);
int compare_files(compare_job *j, size_t other);
int compare_programs(compare_job *j, size_t other);
int compare_counts(compare_job *j, size_t other);
/* `a` and `b` may be NULL. */
int compare_report(compare_job *j, size_t other, const takt_comparison *c, const takt_timing *a,
                   const takt_timing *b);
/* Keeps how a side was computed, for the report. */
void compare_keep_config(compare_side *side, const takt_run_config *config);
/* Whether an exit code is that of a comparison, not of a failure. */
bool compare_is_verdict(int code);
/* The more severe code: a failure, then a regression, then inconclusive. */
int compare_worse(int a, int b);
/* Results of different machines, or counted in different ways. */
int compare_mixed(const takt_tool *t, const char *sentence);
bool compare_is_result(const char *path);

#endif
