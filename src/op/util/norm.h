/* norm.h - shared by softmax and the normalisations.
 *
 * norms: (x - mean) * (1 / sqrt(var + epsilon)), * gamma, + beta, each rounded. f16 and bf16 are
 * normalised in f32 and rounded before gamma: the squares of modest numbers overflow f16.
 */
#ifndef TAKT_OP_UTIL_NORM_H
#define TAKT_OP_UTIL_NORM_H

#include "op/util/reduce.h"
#include "op/util/window.h"

/* Inference of ops with an attribute `axis` at index 0 whose result has the type of their input. */
takt_status takt_axis_infer(takt_infer *in);
/* The one axis of such a node as a reduction that keeps it; `axis` holds its number. */
takt_reduction takt_axis_reduction(const takt_node *n, int64_t *axis);

/* x - max and exp of it along the axis. */
takt_id takt_shifted(takt_graph *g, const takt_reduction *r);

typedef struct takt_norm {
    takt_reduction over; /* keeps its axes; x is widened */
    takt_id normal;      /* the normalised x, widened */
    takt_id scale;       /* 1 / sqrt(var + epsilon) */
    bool is_centred;     /* false: the mean is not subtracted, and var is the mean of squares */
} takt_norm;

takt_norm takt_norm_make(takt_graph *g, const takt_reduction *over, double epsilon,
                         bool is_centred);
/* The gradient of x from that of the normalised x, in the dtype of norm->over.x. */
takt_id takt_norm_grad(takt_graph *g, const takt_norm *norm, takt_id d_normal);

/* The factor and the addend after the normalisation. */
typedef struct takt_affine {
    takt_id gamma, beta; /* shaped to broadcast against x; beta may be TAKT_NONE */
} takt_affine;
takt_id takt_affine_apply(takt_graph *g, takt_id normal, const takt_affine *affine);

/* A vector over channels as [C, 1, 1] or [C]: it broadcasts against x of that layout. */
takt_id takt_per_channel(takt_graph *g, takt_id vector, int rank, int64_t layout);
/* Its gradient from that of a whole x: summed over everything but channels. */
takt_id takt_sum_per_channel(takt_graph *g, takt_id x, int64_t layout);
/* x, gamma, beta of a node, per channel, TAKT_NONE for a beta left out; and their gradients. */
void takt_norm_inputs(takt_graph *g, const takt_node *n, int64_t layout, takt_id in[static 3]);
void takt_affine_grad(takt_graph *g, const takt_node *n, int64_t layout, takt_id dy, takt_id normal,
                      takt_id *dx);

/* Group normalisation of x (N, C, …) with gamma and perhaps beta over channels: e->in[0..2]. */
takt_status takt_group_eval(takt_eval *e, size_t groups, double epsilon, int64_t layout);

#endif
