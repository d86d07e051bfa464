/* loss.h - losses that compare two tensors element by element and then reduce.
 *
 * f16 and bf16 are computed in f32 and rounded at the end: a sum of many losses overflows f16.
 */
#ifndef TAKT_OP_UTIL_LOSS_H
#define TAKT_OP_UTIL_LOSS_H

#include "op/ops.h"

enum { TAKT_MEAN, TAKT_SUM, TAKT_EACH };
extern const char *const takt_reduction_names[];

/* Every loss has this attribute first. */
enum { TAKT_LOSS_REDUCTION };
#define TAKT_LOSS_ATTR                                                                             \
    [TAKT_LOSS_REDUCTION] = {.name = "reduction",                                                  \
                             .type = TAKT_ATTR_ENUM,                                               \
                             .fallback.i64 = TAKT_MEAN,                                            \
                             .names = takt_reduction_names,                                        \
                             .summary = "mean or sum of all elements, or none: each"}

/* Prediction and target have one shape; the result is a scalar or, with `none`, of that shape. */
takt_status takt_loss_infer(takt_infer *in);
/* `f` is the loss of one element. */
takt_status takt_loss_eval(takt_eval *e, double (*f)(const takt_attr *attr, double x, double t));
void takt_loss_cost(const takt_graph *g, const takt_node *n, takt_cost *cost);

/* Both inputs, widened. */
typedef struct takt_pair {
    takt_id x, t;
} takt_pair;
takt_pair takt_loss_pair(takt_graph *g, const takt_node *n);
/* Reduces the losses of all elements as the node specifies. */
takt_id takt_loss_finish(takt_graph *g, const takt_node *n, takt_id each);
/* The gradient of an input: that of the result, distributed, times `slope`; in the node's dtype. */
takt_id takt_loss_grad(takt_graph *g, const takt_node *n, takt_id dy, takt_id slope);

#endif
