/* measure.h - what a profile holds. */
#ifndef TAKT_MEASURE_SESSION_MEASURE_H
#define TAKT_MEASURE_SESSION_MEASURE_H

#include <takt/counters.h>
#include <takt/system.h>

#include "api/session/session.h"
#include "measure/report/report.h"
#include "measure/roofline.h"
#include "os/other_load.h"
#include "os/topology.h"

enum { TAKT_TRACE_RUNS = 8 };

typedef struct takt_profile_row {
    const takt_step *step;
    double median_ns, min_ns, max_ns, mean_ns;
    takt_interval ci;
    double share; /* of the sum of all steps */
    takt_roof roof;
    const char *bound; /* `limit` as a word */
    takt_bound limit;
    double percent;         /* of the ceiling; 0: unknown */
    double wait, imbalance; /* of shared steps: fraction of all threads' time spent waiting, and how
                               much longer the busiest worked than the average */
} takt_profile_row;

/* Work of a run other than its steps. */
typedef struct takt_profile_rest {
    double load_ns;               /* of the model, if given by the caller */
    double allocations;           /* a run */
    double messages, log_ns;      /* logged in a run */
    double branch_misses, cycles; /* a run; 0: not counted */
    char counters[96];            /* why not */
    takt_other_load others;       /* meanwhile */
} takt_profile_rest;

struct takt_profile {
    takt_ctx *ctx;
    takt_plan *plan; /* retained */
    takt_arena arena;
    const char *model, *timestamp; /* in the arena; timestamp may be NULL */
    const char *inputs;            /* "x f32[8, 784]": the sizes that were measured */
    bool has_ceilings;
    takt_ceilings ceilings;
    takt_device_peaks peaks[TAKT_SPACES]; /* of its devices; [0] is not used */
    takt_timing timing;                   /* without timing the steps */
    takt_profile_row *rows;
    double *samples; /* [steps][runs], in nanoseconds */
    size_t runs;
    double run_ns;     /* median of a profiled run */
    double steps_ns;   /* sum of the rows' medians */
    double watched_ns; /* median of the sums of one run's steps */
    double clock_ns;   /* cost of one clock read; subtracted */
    size_t moves;      /* bound buffers that every run copies: slices, Fortran order, unaligned */
    double moves_ns;   /* copying them once, in and out */
    char move_names[128];
    uint64_t *starts; /* [trace_runs][steps][2], from the first of them on */
    size_t trace_runs;
    float *busy_samples; /* [steps][kept runs][threads]: part of the step's time */
    size_t kept_runs;
    double *busy_ns; /* [steps][threads], medians */
    uint64_t *bars;  /* [trace_runs][steps][threads][2]: from the first task to the last; or 0 */
    takt_profile_rest rest;
    takt_cache_use cache; /* source NULL: not requested */
    char cache_note[512];
};

/* "1.23 ms", "45.6 us". */
const char *takt_figure_time(double ns, char to[static TAKT_FIGURE_TEXT]);
/* "12.3 GFLOP" and the like: a figure with a unit's prefix. */
const char *takt_figure_scaled(double value, const char *unit, char to[static TAKT_FIGURE_TEXT]);
/* The layer that a step belongs to: the beginning of its name. */
size_t takt_step_layer(const takt_step *step, const char **name);

void takt_profile_steps(const takt_profile *p, size_t top, takt_report *r);
void takt_profile_brief(const takt_profile *p, takt_report *r);
void takt_profile_layers(const takt_profile *p, takt_report *r);
void takt_profile_memory(const takt_profile *p, takt_report *r);
/* How the caches are used, if that was set; for every view. */
void takt_profile_cache(const takt_profile *p, takt_report *r);
/* Forward, gradient and optimizer of a training step; writes nothing for other plans. */
void takt_profile_phases(const takt_profile *p, takt_report *r);
void takt_profile_advice(const takt_profile *p, takt_report *r);

/* One cause of time, with its figure, what to do about it, and the fraction of the run that this
 * could save at most. */
typedef struct takt_finding {
    const char *cause;
    bool is_waiting; /* threads wait for each other */
    double gain;     /* 0 to 1 */
    bool is_unknown; /* could not be checked here; `figure` says why */
    char figure[400], remedy[240];
} takt_finding;

enum { TAKT_REST_FINDINGS = 7, TAKT_REST_MACHINE = 6 };

/* Causes other than the steps: synchronisation, data loading, allocation, serialisation, logging,
 * branches, the machine, in this order; all of them, however small. */
void takt_profile_causes(const takt_profile *p, takt_finding findings[TAKT_REST_FINDINGS]);
/* Measures the rest with a few more runs. */
TAKT_MUST_USE takt_status takt_profile_look_aside(takt_profile *p, takt_session *s);
TAKT_MUST_USE takt_status takt_profile_trace(const takt_profile *p, takt_sink_fn *sink, void *user);
TAKT_MUST_USE takt_status takt_profile_flame(const takt_profile *p, takt_sink_fn *sink, void *user);
TAKT_MUST_USE takt_status takt_profile_page(const takt_profile *p, takt_sink_fn *sink, void *user);
TAKT_MUST_USE takt_status takt_profile_folded(const takt_profile *p, takt_sink_fn *sink,
                                              void *user);

/* Sockets, nodes and caches; GPUs: rows of two cells, and keys of an open object. */
void takt_topology_rows(takt_table *t, const takt_cpu_facts *facts, const takt_topology *o);
void takt_gpu_rows(takt_table *t);
void takt_topology_json(takt_json_writer *w, const takt_topology *o);
void takt_gpu_json(takt_json_writer *w);

/* 'A' to 'D'; '?' where the load of other processes is unknown. */
char takt_environment_grade(const takt_environment *e, const takt_other_load *others);

#endif
