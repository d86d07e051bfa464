/* adam.h - element-wise steps that are an update by Adam or AdamW, as one kernel. */
#ifndef TAKT_BACKEND_CPU_ADAM_H
#define TAKT_BACKEND_CPU_ADAM_H

#include "backend/cpu/map_match.h"
#include "kernel/adam_f32/adam_f32.h"

enum { TAKT_ADAM_RESULTS = 3 };

typedef struct takt_adam_facts {
    const takt_map_program *program;
    takt_adam_f32_fn *run;
    /* Indices into step->in; more, divisor and keep are negative if absent. */
    bool widens; /* g is a narrow float */
    int g, more, m, v, w, is_good, beta1, rest1, beta2, rest2, epsilon, divisor, keep, correction,
        rate;
    /* Results, in the order of the program's writes. */
    struct {
        int out;  /* index into step->out */
        int old;  /* index into step->in: the value kept if the step is skipped */
        int role; /* 0 mean, 1 square, 2 weight */
    } result[TAKT_ADAM_RESULTS];
} takt_adam_facts;

/* Whether `program`, made of the nodes of p's group, computes the update and nothing else; `f` then
 * holds its operands. Bits are the same either way. */
bool takt_adam_find(const takt_planner *p, const takt_map_program *program, takt_adam_facts *f);
/* Elements [first, end). */
void takt_adam_run(const takt_adam_facts *f, const takt_step *s, const takt_task *t, size_t first,
                   size_t end);

#endif
