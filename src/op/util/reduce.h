/* reduce.h - shared by the reductions: attributes, inference, evaluation, building. */
#ifndef TAKT_OP_UTIL_REDUCE_H
#define TAKT_OP_UTIL_REDUCE_H

#include "op/ops.h"

/* Every reduction has these two attributes first. */
enum { TAKT_REDUCE_AXES, TAKT_REDUCE_KEEP };
#define TAKT_REDUCE_ATTRS                                                                          \
    [TAKT_REDUCE_AXES] = {.name = "axes",                                                          \
                          .type = TAKT_ATTR_I64S,                                                  \
                          .summary = "what to reduce over; none: everything"},                     \
    [TAKT_REDUCE_KEEP] = {.name = "keep",                                                          \
                          .type = TAKT_ATTR_BOOL,                                                  \
                          .fallback.boolean = false,                                               \
                          .summary = "leave dimensions of size 1 behind"}

takt_status takt_reduce_infer(takt_infer *in);
/* One operation per element of the input. */
void takt_reduce_cost(const takt_graph *g, const takt_node *n, takt_cost *cost);

/* A fold over the reduced elements, in row-major order. `start` is converted to the dtype:
 * infinite means the least or greatest integer. */
typedef struct takt_fold {
    double start;
    double (*f)(double sum, double x);
    int64_t (*i)(takt_dtype dtype, int64_t sum, int64_t x); /* may be NULL for float-only ops */
    double (*finish)(double sum, double count);             /* may be NULL */
} takt_fold;
takt_status takt_fold_eval(takt_eval *e, const takt_fold *fold);

/* The axes of a reduction, in a form that survives appending. */
typedef struct takt_reduction {
    takt_id x;
    const int64_t *axes;
    size_t count;
    bool keep;
} takt_reduction;
takt_reduction takt_reduction_of(const takt_node *n);
takt_id takt_reduce_by(takt_graph *g, const takt_op *op, takt_id x, const takt_reduction *r);
/* A result or its gradient with the reduced dimensions put back as 1: it broadcasts against x. */
takt_id takt_unreduce(takt_graph *g, takt_id y, const takt_reduction *r);
/* For the greatest or least element: ties share it, as in PyTorch. */
void takt_reduce_best_grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx);

/* Number of elements reduced into one, as a scalar of the dtype of `like`. */
takt_id takt_reduced_count(takt_graph *g, takt_id like, const takt_reduction *r);
/* sum / count; f16 and bf16 in f32, rounded once. */
takt_id takt_mean(takt_graph *g, const takt_reduction *r);

#endif
