/* cost_model.h - how many threads pay off for a step.
 *
 *     const takt_cost_model *w = takt_cost_model_of(isas);
 *     const double us = takt_cost_model_us(w, flops, bytes);
 *     step->task_count = takt_cost_model_tasks(w, us, threads);
 *
 * A step of `us` microseconds takes about us / n + call_us + n * each_us with n threads. So a short
 * step runs single-threaded on the caller, a longer one on some of the threads, a long one on all.
 * Of many threads some are slower, since they share cores with each other or with other processes,
 * and with one task per thread the step waits for the slowest: work too short for several tasks per
 * thread runs on half of them.
 *
 * Only speed depends on it, and a plan is the same whenever it is made for the same machine.
 */
#ifndef TAKT_BACKEND_CPU_COST_MODEL_H
#define TAKT_BACKEND_CPU_COST_MODEL_H

#include <stddef.h>

#include "base/inner.h"
#include "kernel/isa.h"

/* A kind of machine. */
typedef struct takt_cost_model {
    double flops_per_us, bytes_per_us; /* of one thread, reached by kernels on small work */
    double far_per_us;                 /* bytes beyond its own caches */
    double moved_per_us;               /* bytes that another thread wrote just before */
    double call_us;     /* until the others have begun, and until the caller has seen them finish */
    double each_us;     /* more for each of them */
    double gain;        /* threads must reduce the time to this fraction of single-threaded */
    double narrow;      /* 16-bit products are this many times as fast as f32 */
    size_t row_columns; /* of a one-row product: with fewer, sums are the limit, not weights */
} takt_cost_model;

/* The kind of machine that has these instructions. */
TAKT_INNER const takt_cost_model *takt_cost_model_of(takt_isa_set isas);
/* Time that work of this many operations and bytes takes one thread. */
TAKT_INNER double takt_cost_model_us(const takt_cost_model *w, double flops, double bytes);
/* Number of tasks for work of `us` and this many threads: one for each thread that pays off, 1 if
 * more threads would not finish clearly sooner; several per thread if tasks remain long, so that a
 * slow thread leaves some of its share to others. */
size_t takt_cost_model_tasks(const takt_cost_model *w, double us, size_t threads);

#endif
