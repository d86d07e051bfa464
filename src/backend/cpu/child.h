/* child.h - running the plan of a subgraph inside a step: its memory is the step's scratch. */
#ifndef TAKT_BACKEND_CPU_CHILD_H
#define TAKT_BACKEND_CPU_CHILD_H

#include "backend/cpu/cpu.h"

typedef struct takt_child {
    const takt_plan *plan;
    struct takt_repeat *body; /* or NULL: its sizes are found in every iteration (plan/repeat.h) */
    size_t at;                /* bytes into the step's shared scratch, and how many */
    size_t bytes;
} takt_child;

/* Memory that a run of it needs, in the step's scratch; open it before setting inputs and
 * outputs. */
typedef struct takt_child_room {
    void **base;
    const void **in; /* one per input and output of the subgraph: its location */
    void **out;
    takt_fault_slot *fault;
    unsigned char *arena;
} takt_child_room;

/* Plans `g` and reserves room for it at the end of the step's scratch. */
TAKT_MUST_USE takt_status takt_child_compile(takt_planner *p, const takt_graph *g,
                                             takt_child *child);
takt_child_room takt_child_open(const takt_child *child, const takt_task *t);
/* Around all runs of a child that finds sizes; false: the run must end, and nothing was begun. */
TAKT_MUST_USE bool takt_child_begin(const takt_child *child, const takt_task *t);
void takt_child_end(const takt_child *child);
/* False: it failed, and so does the step; nothing is left to do. */
bool takt_child_run(const takt_child *child, const takt_child_room *room, const takt_task *t);
/* For other failures of control flow: recorded as the step's. */
void takt_child_fail(const takt_child *child, const takt_task *t, takt_error_id id,
                     const char *what, uint64_t number);

/* Room for `bytes` more in the step's shared scratch; returns where. */
TAKT_MUST_USE takt_status takt_scratch_add(takt_planner *p, size_t bytes, size_t *at);

/* Elements of a sequence, or of a scanned result: [outer, size, inner], one index of `size` each.
 */
typedef struct takt_lane {
    size_t outer, size, inner;
    int bits;
    bool is_direct; /* an element is one run of bytes and need not be copied */
    size_t at;      /* otherwise: room for one, in the step's scratch */
} takt_lane;

TAKT_MUST_USE takt_status takt_lane_compile(takt_planner *p, const takt_view *v, int64_t axis,
                                            takt_lane *lane);
/* Where element `i` can be read. */
const void *takt_lane_take(const takt_lane *lane, const takt_task *t, const void *data, size_t i);
/* Where it can be written, and the copy back afterwards. */
void *takt_lane_open(const takt_lane *lane, const takt_task *t, void *data, size_t i);
void takt_lane_close(const takt_lane *lane, const takt_task *t, void *data, size_t i);

/* A value carried from one iteration to the next: written to two places alternately, the first of
 * which is the step's result. */
typedef struct takt_carried {
    size_t in, out; /* views of the step */
    size_t bytes;
    size_t at; /* the second place, in the step's scratch */
} takt_carried;

TAKT_MUST_USE takt_status takt_carried_compile(takt_planner *p, size_t in, size_t out,
                                               takt_carried *c);
void *takt_carried_target(const takt_carried *c, const takt_step *s, const takt_task *t,
                          size_t iteration);
/* Copies the last value, wherever it is, to the step's result. */
void takt_carried_close(const takt_carried *c, const takt_step *s, const takt_task *t,
                        const void *last);

#endif
