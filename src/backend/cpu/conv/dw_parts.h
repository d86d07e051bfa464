/* dw_parts.h - a gradient by weights whose threads share samples.
 *
 * Sums run over chunks of positions, one after the other. Where weights are few, there are not
 * enough rows of them for all threads: then `prepare` stores the sums of each chunk, a share of the
 * samples each, and the tasks add them in order, a share of the rows each: the same bits.
 */
#ifndef TAKT_BACKEND_CPU_CONV_DW_PARTS_H
#define TAKT_BACKEND_CPU_CONV_DW_PARTS_H

#include "backend/cpu/conv/shape.h"

typedef struct takt_dw_parts {
    size_t grain; /* rows that stay together, and the cost of the step: set by the caller */
    takt_cost cost;
    size_t chunks; /* of a sample; 0: each task has its own rows, and sums them itself */
    size_t at;     /* [sample][chunk][k][cout] floats in shared scratch */
} takt_dw_parts;

/* For p->step, after its own shared scratch: sets task_count and, where samples are shared,
 * `prepare`. */
void takt_dw_parts_plan(takt_planner *p, const takt_conv_shape *c, takt_step_run_fn *prepare,
                        takt_dw_parts *d);
/* Rows of k that a task has at once, at most. */
size_t takt_dw_parts_rows(const takt_dw_parts *d, const takt_conv_shape *c, const takt_step *s);
/* The sums of a chunk of a sample. */
float *takt_dw_parts_of(const takt_dw_parts *d, const takt_conv_shape *c, const takt_task *t,
                        size_t sample, size_t chunk);
/* One task: adds up its share of the rows over all chunks, and stores it. */
void takt_dw_parts_add(const takt_dw_parts *d, const takt_conv_shape *c, const takt_step *s,
                       const takt_task *t);
/* Copies rows [first, end) of k, [k][cout], to dw. */
void takt_dw_store(const takt_conv_shape *c, const float *sums, size_t first, size_t end,
                   float *dw);

#endif
