/* last_axes.h - layer_norm and rms_norm: normalisation over the axes from `axis` to the last. */
#ifndef TAKT_OP_UTIL_LAST_AXES_H
#define TAKT_OP_UTIL_LAST_AXES_H

#include "op/util/norm.h"

enum { TAKT_LAST_AXIS, TAKT_LAST_EPSILON, TAKT_LAST_CENTRED };
#define TAKT_LAST_AXES_ATTRS                                                                       \
    [TAKT_LAST_AXIS] = {.name = "axis",                                                            \
                        .type = TAKT_ATTR_I64,                                                     \
                        .fallback.i64 = -1,                                                        \
                        .summary = "the first of the axes to normalise over"},                     \
    [TAKT_LAST_EPSILON] = {.name = "epsilon",                                                      \
                           .type = TAKT_ATTR_F64,                                                  \
                           .fallback.f64 = 1e-5,                                                   \
                           .summary = "added to the variance"}

#define TAKT_LAST_AXES_CENTRED                                                                     \
    [TAKT_LAST_CENTRED] = {.name = "centred",                                                      \
                           .type = TAKT_ATTR_BOOL,                                                 \
                           .fallback.boolean = true,                                               \
                           .summary = "the mean is subtracted, as in layer_norm"}

/* x, and gamma and beta that broadcast into the normalised axes. */
takt_status takt_last_axes_infer(takt_infer *in);
/* `is_centred`: layer_norm; else rms_norm, which does not subtract the mean. */
takt_status takt_last_axes_eval(takt_eval *e, bool is_centred);
takt_id takt_last_axes_lower(takt_graph *g, const takt_node *n, bool is_centred);
void takt_last_axes_grad(takt_graph *g, const takt_node *n, bool is_centred, takt_id dy,
                         takt_id *dx);
/* Its parts as ops, with these attributes and `centred`: norm_dx and norm_dgamma. */
takt_status takt_last_axes_infer_dx(takt_infer *in);
takt_id takt_last_axes_dx(takt_graph *g, const takt_node *n);
takt_id takt_last_axes_dgamma(takt_graph *g, const takt_node *n);

#endif
