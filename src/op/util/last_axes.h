/* last_axes.h - layer_norm and rms_norm: normalisation over the axes from `axis` to the last. */
#ifndef TAKT_OP_UTIL_LAST_AXES_H
#define TAKT_OP_UTIL_LAST_AXES_H

#include "op/util/norm.h"

enum { TAKT_LAST_AXIS, TAKT_LAST_EPSILON };
#define TAKT_LAST_AXES_ATTRS                                                                       \
    [TAKT_LAST_AXIS] = {.name = "axis",                                                            \
                        .type = TAKT_ATTR_I64,                                                     \
                        .fallback.i64 = -1,                                                        \
                        .summary = "the first of the axes to normalise over"},                     \
    [TAKT_LAST_EPSILON] = {.name = "epsilon",                                                      \
                           .type = TAKT_ATTR_F64,                                                  \
                           .fallback.f64 = 1e-5,                                                   \
                           .summary = "added to the variance"}

/* x, and gamma and beta that broadcast into the normalised axes. */
takt_status takt_last_axes_infer(takt_infer *in);
/* `is_centred`: layer_norm; else rms_norm, which leaves the mean in. */
takt_status takt_last_axes_eval(takt_eval *e, bool is_centred);
takt_id takt_last_axes_lower(takt_graph *g, const takt_node *n, bool is_centred);
void takt_last_axes_grad(takt_graph *g, const takt_node *n, bool is_centred, takt_id dy,
                         takt_id *dx);

#endif
