/* arg.h - shared by argmax and argmin. */
#ifndef TAKT_OP_UTIL_ARG_H
#define TAKT_OP_UTIL_ARG_H

#include "op/ops.h"

enum { TAKT_ARG_AXIS, TAKT_ARG_KEEP, TAKT_ARG_LAST };
#define TAKT_ARG_ATTRS                                                                             \
    [TAKT_ARG_AXIS] = {.name = "axis",                                                             \
                       .type = TAKT_ATTR_I64,                                                      \
                       .is_required = true,                                                        \
                       .summary = "the axis to search along"},                                     \
    [TAKT_ARG_KEEP] = {.name = "keep",                                                             \
                       .type = TAKT_ATTR_BOOL,                                                     \
                       .fallback.boolean = false,                                                  \
                       .summary = "leave a dimension of size 1 behind"},                           \
    [TAKT_ARG_LAST] = {.name = "last",                                                             \
                       .type = TAKT_ATTR_BOOL,                                                     \
                       .fallback.boolean = false,                                                  \
                       .summary = "of equal elements, take the last"}

takt_status takt_arg_infer(takt_infer *in);
void takt_arg_cost(const takt_graph *g, const takt_node *n, takt_cost *cost);
/* `wins`: whether x replaces the best so far; equal elements do not. */
takt_status takt_arg_eval(takt_eval *e, bool (*f_wins)(double x, double best),
                          bool (*i_wins)(takt_dtype dtype, int64_t x, int64_t best));

#endif
