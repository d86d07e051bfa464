/* roofline.h - how fast a step could be on this machine, from its arithmetic and its bytes. */
#ifndef TAKT_MEASURE_ROOFLINE_H
#define TAKT_MEASURE_ROOFLINE_H

#include "measure/ceilings.h"
#include "plan/plan.h"

typedef struct takt_roof {
    double flops, bytes; /* of one run of the step */
    int threads;         /* that it can use */
    double gflops, gbs;  /* the ceilings that apply */
    int level;           /* where most of its bytes come from */
    double compute_ns, memory_ns, floor_ns;
    const char *away; /* of a step on a device, or a copy: which memory; NULL: it is the host's */
    double launch_ns; /* there: one launch and its wait, which a profile has for every step */
} takt_roof;

/* Peak rates of a device, per nanosecond; 0: unknown. */
typedef struct takt_device_peaks {
    double flops, read, copy, near, up, down; /* near: what fits TAKT_DEVICE_NEAR */
    double launch_ns;
} takt_device_peaks;

/* Bytes are those of the step's operands; weights come from the level that holds the whole plan's
 * memory, everything else from the level that holds the step's own operands. Reading and copying
 * have separate ceilings. */
void takt_roof_of(const takt_plan *plan, const takt_step *step, const takt_ceilings *c,
                  takt_roof *roof);
/* The same for a step that is not the host's alone: one of a device, or a copy from or to it. With
 * peaks that are unknown, its floor is 0. */
void takt_roof_of_device(const takt_plan *plan, const takt_step *step, const takt_device_peaks *d,
                         takt_roof *roof);
/* Whether the step is one of these. */
bool takt_roof_is_away(const takt_step *step);
takt_device_peaks takt_device_peaks_of(const takt_device_rate *rates, size_t count);
/* Bytes of constants that a run of the step reads. */
double takt_roof_weights(const takt_plan *plan, const takt_step *step);
/* "compute", "L1" ... "DRAM", or "overhead" if a step that takes `ns` does little of either. Of a
 * device "FMA", "HBM", "L2", "PCIe", "launch" if that takes longer than the work, or "unknown". */
const char *takt_roof_bound(const takt_roof *roof, double ns);
/* The same as a fact. */
takt_bound takt_roof_kind(const takt_roof *roof, double ns);
/* From a word in a result file; NULL is allowed. */
takt_bound takt_bound_read(const char *word);

#endif
