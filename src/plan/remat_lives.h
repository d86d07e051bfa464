/* remat_lives.h - executions of a plan's steps and what is alive at each of them. */
#ifndef TAKT_PLAN_REMAT_LIVES_H
#define TAKT_PLAN_REMAT_LIVES_H

#include "plan/rematerialise.h"

/* A value in a buffer of the host's arena: a step that reads and overwrites the buffer begins a new
 * one. */
typedef struct takt_remat_value {
    size_t bytes;    /* 0: it is elsewhere */
    int maker;       /* the only step that makes it completely, and may run again; -1: none */
    int writers;     /* steps that write a part of it */
    int over;        /* the step that writes the next value over it; -1: none */
    int first, last; /* executions, while lives are counted */
} takt_remat_value;

/* The values that a step reads and writes. */
typedef struct takt_remat_edges {
    uint32_t *in, *out;
} takt_remat_edges;

typedef struct takt_remat_search {
    const takt_plan *plan;
    takt_arena *memory;
    const takt_machine *machine;
    takt_remat_value *values;
    size_t value_count;
    takt_remat_edges *edges; /* per step */
    int *run;                /* executions: steps */
    unsigned char *is_remat; /* per execution */
    size_t count;
    int *old_run; /* before the last repetition, to undo it */
    unsigned char *old_remat;
    size_t old_count;
    unsigned char *repeats; /* per step */
    /* Executions that use each value, in order: those of value i from first_use[i] on, up to those
     * of the next. Valid as of the last takt_remat_count. */
    uint32_t *first_use;
    int *uses;
    int *remat_at;      /* per step: its second execution, or -1 */
    uint64_t work;      /* values examined so far */
    int64_t *live;      /* per execution: bytes; one more at the end */
    double time, extra; /* of all steps, and of repetitions */
    double arena;       /* bytes before the first repetition */
    const takt_remat_limit *limit;
} takt_remat_search;

/* Estimated time of a step, in microseconds. */
double takt_remat_time(const takt_remat_search *s, int step);
/* Finds the values and executions of the plan, before any repetition. */
TAKT_MUST_USE takt_status takt_remat_survey(takt_remat_search *s);
/* Bytes alive at every execution, and the execution with most of them. */
void takt_remat_count(takt_remat_search *s);
size_t takt_remat_fullest(const takt_remat_search *s);
/* Whether execution `at` reads or writes a value. */
bool takt_remat_uses(const takt_remat_search *s, int at, uint32_t id);
/* The next execution from `at` on that uses a value, and the last one before; -1: none. */
int takt_remat_next(const takt_remat_search *s, uint32_t id, int at);
int takt_remat_last(const takt_remat_search *s, uint32_t id, int before);

#endif
