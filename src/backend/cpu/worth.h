/* worth.h - how many threads a step is worth calling.
 *
 *     const takt_worth *w = takt_worth_of(isas);
 *     const double us = takt_worth_us(w, flops, bytes);
 *     step->task_count = takt_worth_tasks(w, us, threads);
 *
 * A step of `us` microseconds takes about us / n + call_us + n * each_us with n threads. So one
 * that is short is done by the caller alone, a longer one by some of the threads, a long one by
 * all. Only speed depends on it, and a plan is the same whenever it is made for the same machine.
 */
#ifndef TAKT_BACKEND_CPU_WORTH_H
#define TAKT_BACKEND_CPU_WORTH_H

#include <stddef.h>

#include "kernel/isa.h"

/* A kind of machine. */
typedef struct takt_worth {
    double flops_per_us, bytes_per_us; /* of one thread, as kernels reach on small work */
    double call_us; /* until others have begun, and until the caller has seen that they ended */
    double each_us; /* more for each: it waits for cache lines that another thread wrote */
} takt_worth;

/* The kind of machine that has these instructions. */
const takt_worth *takt_worth_of(takt_isa_set isas);
/* What work of so many operations and bytes takes one thread. */
double takt_worth_us(const takt_worth *w, double flops, double bytes);
/* How many of the threads end work of `us` soonest; 1 unless that is clearly sooner than alone. */
size_t takt_worth_threads(const takt_worth *w, double us, size_t threads);
/* Tasks for so many threads: several for each of all if tasks remain long enough, so that a slow
 * thread leaves some of its share to others. */
size_t takt_worth_tasks(const takt_worth *w, double us, size_t threads);

#endif
