/* depthwise.h - lines of a depthwise convolution, for the steps that compute some. */
#ifndef TAKT_BACKEND_CPU_CONV_DEPTHWISE_H
#define TAKT_BACKEND_CPU_CONV_DEPTHWISE_H

#include "backend/cpu/conv/end.h"
#include "backend/cpu/conv/run.h"
#include "backend/cpu/conv/shape.h"
#include "kernel/depthwise_f32/depthwise_f32.h"

enum { TAKT_DEPTHWISE_LINES = 9 }; /* lines of outputs at a time; avoids a single last one */

typedef struct takt_cpu_lines {
    takt_conv_shape shape;
    takt_conv_end end;
    takt_depthwise_f32_fn *run;
    size_t grain; /* lines that a task does together */
    size_t w;
    bool is_packed;
    size_t packed_at;                  /* of the weights in shared scratch, unless is_packed */
    takt_conv_memory memory;           /* of 16 bits: x is widened, lines are rounded */
    size_t lines;                      /* of them, in a worker's scratch */
    size_t x_step;                     /* rows of x from one line of outputs to the next */
    size_t zeros, pointers, registers; /* offsets in a worker's scratch */
} takt_cpu_lines;

/* For p->group, whose anchor is the convolution: weights, epilogue, output, and scratch for each
 * worker from step->scratch_each on. */
TAKT_MUST_USE takt_status takt_lines_compile(takt_planner *p, takt_cpu_lines *f);

/* The part that all lines share; d->x are the rows of x. */
void takt_lines_begin(const takt_cpu_lines *f, const takt_step *s, const takt_task *t,
                      takt_depthwise_f32 *d);
/* Where the caller stores the rows that d->x points to. */
const float **takt_lines_rows(const takt_cpu_lines *f, const takt_task *t);
/* Computes d->lines lines from output line `row` of the batch on, and their epilogue. */
void takt_lines_run(const takt_cpu_lines *f, const takt_step *s, const takt_task *t,
                    takt_depthwise_f32 *d, size_t row);
/* Number of tasks for all lines. */
size_t takt_lines_tasks(const takt_planner *p, const takt_cpu_lines *f);

#endif
