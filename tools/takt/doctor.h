/* doctor.h - causes of a model's slow runs, high memory use or low rate, each measured. */
#ifndef TAKT_TOOL_DOCTOR_H
#define TAKT_TOOL_DOCTOR_H

#include "measure.h"

enum { TAKT_TIME_TEXT = 32 };
/* "15.8 us". */
const char *tool_figure_time(double ns, char to[static TAKT_TIME_TEXT]);

enum { TAKT_FINDINGS = 16, TAKT_FINDING_TEXT = 200 };

/* One cause. */
typedef struct tool_finding {
    const char *cause;
    char figure[TAKT_FINDING_TEXT]; /* what was measured */
    char remedy[TAKT_FINDING_TEXT];
    double gain; /* the most that the remedy can save, as a fraction; negative: unknown */
} tool_finding;

typedef struct tool_patient {
    takt_tool *t;
    const takt_model *model;
    const char *path; /* as typed, for remedies */
    tool_sizes sizes;
    takt_plan_options options; /* by the flags */
    takt_plan_info info;       /* of that plan */
    char backend[16];          /* and its backend's name */
    takt_pool *pool;           /* of all sessions: idle workers of one must not disturb another */
    takt_session *base;        /* of that plan, its inputs filled */
    double run_ns, copy_ns;    /* its median, and copying its inputs */
    size_t warmup;             /* runs before it settled */
    uint64_t max_ns;           /* for each measurement */
    tool_finding findings[TAKT_FINDINGS];
    size_t count;
} tool_patient;

/* Loads the model of the flags and calls `look` on it. */
int tool_patient_examine(takt_tool *t, int (*look)(tool_patient *p));
/* A new finding, to be filled in; never NULL. */
tool_finding *tool_finding_add(tool_patient *p, const char *cause, double gain);
/* Runs other options alternately with those of the flags, since on a busy machine sequential
 * measurements differ anyway. `scale`: samples of the one over samples of the other. False: they
 * cannot be planned. */
typedef struct tool_trial {
    double now_ns, then_ns; /* medians */
    double gain;            /* fraction of the time that is saved; 0 unless significant */
} tool_trial;
bool tool_try(tool_patient *p, const takt_plan_options *o, double scale, tool_trial *trial);
/* Everything on, whatever the flags say; false: nothing is off. */
bool tool_all_on(const tool_patient *p, takt_plan_options *o);
/* The sizes with another batch. False: the model has no batch dimension. */
bool tool_with_batch(const tool_patient *p, int64_t factor, int64_t divisor, char text[TOOL_SIZES],
                     int64_t *batch);
void tool_look_slow(tool_patient *p);
void tool_look_memory(tool_patient *p);
void tool_look_throughput(tool_patient *p);

#endif
