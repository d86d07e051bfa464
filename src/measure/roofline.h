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
} takt_roof;

/* Bytes are those of the step's operands; weights come from the level that holds the whole plan's
 * memory, everything else from the level that holds the step's own operands. Reading and copying
 * have separate ceilings. */
void takt_roof_of(const takt_plan *plan, const takt_step *step, const takt_ceilings *c,
                  takt_roof *roof);
/* Bytes of constants that a run of the step reads. */
double takt_roof_weights(const takt_plan *plan, const takt_step *step);
/* "compute", "L1" ... "DRAM", or "overhead" if a step that takes `ns` does little of either. */
const char *takt_roof_bound(const takt_roof *roof, double ns);
/* The same as a fact. */
takt_bound takt_roof_kind(const takt_roof *roof, double ns);
/* From a word in a result file; NULL is allowed. */
takt_bound takt_bound_read(const char *word);

#endif
