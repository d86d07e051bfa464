/* global_pool.h - pooling over all spatial axes: a reduction that keeps them with size 1. */
#ifndef TAKT_OP_UTIL_GLOBAL_POOL_H
#define TAKT_OP_UTIL_GLOBAL_POOL_H

#include "op/util/check.h"
#include "op/util/window.h"

enum { TAKT_GLOBAL_LAYOUT };

#define TAKT_GLOBAL_ATTRS                                                                          \
    [TAKT_GLOBAL_LAYOUT] = {.name = "layout",                                                      \
                            .type = TAKT_ATTR_ENUM,                                                \
                            .names = takt_layout_names,                                            \
                            .summary = "nchw: [N, C, ...]; nhwc: [N, ..., C]"}

TAKT_MUST_USE takt_status takt_global_infer(takt_infer *in);
takt_id takt_global_reduce(takt_graph *g, const takt_node *n, const takt_op *reduction);

#endif
