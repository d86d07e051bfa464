/* machine.h - what the cpu backend knows of processors, in one record for each kind: figures that
 * decide what is fused, how many threads a step gets, and how products are cut. Only speed depends
 * on them. */
#ifndef TAKT_BACKEND_CPU_MACHINE_H
#define TAKT_BACKEND_CPU_MACHINE_H

#include "backend/cpu/cost_model.h"
#include "plan/device.h"

/* How products are cut for threads: cut.h. */
typedef struct takt_cut_figures {
    double panel_rows;      /* rows multiplied while a panel comes from the last level of cache */
    double near_panel_rows; /* and from the thread's own cache */
    double near_bytes;      /* of weights that stay there all through a product */
    double own_bytes;       /* bytes still there when a thread comes back */
    double flops_per_us, near_per_us, far_per_us; /* operations; bytes of weights */
    double taking_us;                             /* a task */
} takt_cut_figures;

typedef struct takt_cpu_machine {
    takt_machine shared; /* for the planner */
    takt_cost_model cost_model;
} takt_cpu_machine;

/* The kind of machine that has these instructions. */
const takt_cpu_machine *takt_cpu_machine_of(takt_isa_set isas);
/* The same for all kinds so far. */
extern const takt_cut_figures takt_cpu_cut_figures;

#endif
