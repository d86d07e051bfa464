/* combine.h - combines elements with those already there: the core of scatter and index_add.
 *
 * Updates are applied one after another, in index order, on one thread: the result has to be the
 * same for any number of threads. f16 and bf16 are accumulated in f32 and rounded once.
 */
#ifndef TAKT_BACKEND_CPU_COMBINE_H
#define TAKT_BACKEND_CPU_COMBINE_H

#include "backend/cpu/cpu.h"
#include "backend/cpu/pace.h"
#include "kernel/convert/convert.h"
#include "op/util/index.h" /* takt_scatter */

typedef struct takt_combine {
    takt_scatter how;
    takt_dtype dtype;
    bool widens;  /* accumulated in f32 in shared scratch */
    bool is_flat; /* x is one number everywhere, and step->in[0] is that number */
    size_t count; /* elements of x */
    size_t row;   /* of takt_combine_row; set by the step */
    takt_convert_fn *convert;
} takt_combine;

/* Adds all inputs of `n` to step->in; an x that is one number everywhere, as in gradients, is
 * replaced by that number, so that no zeros as large as a value are stored. */
TAKT_MUST_USE takt_status takt_combine_inputs(takt_planner *p, const takt_node *n);
/* For gather and scatter: a step with all inputs of `n` and this data (NULL: out of memory), whose
 * faults are indices out of range. */
TAKT_MUST_USE takt_status takt_indexed_begin(takt_planner *p, const takt_node *n, const void *data);
/* For a step whose first input is x: adds the step's one output, in place of x if possible. */
TAKT_MUST_USE takt_status takt_combine_compile(takt_planner *p, takt_scatter how, takt_combine *c);
/* Writes x as the first state of the result; returns where updates go. */
void *takt_combine_begin(const takt_combine *c, const takt_step *s, const takt_task *t);
/* Combines u[from .. from + n) into to[at .. at + n). */
void takt_combine_put(const takt_combine *c, void *to, size_t at, const void *u, size_t from,
                      size_t n);
/* The same for c->row elements, in pieces; false: the task must end. */
bool takt_combine_row(const takt_combine *c, void *to, size_t at, const void *u, size_t from,
                      takt_pace *pace);
void takt_combine_end(const takt_combine *c, const takt_step *s, const takt_task *t);

#endif
