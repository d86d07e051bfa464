/* deform.h - deformable convolution: geometry and lowering. */
#ifndef TAKT_OP_UTIL_DEFORM_H
#define TAKT_OP_UTIL_DEFORM_H

#include "op/ops.h"

enum {
    TAKT_DEFORM_STRIDE,
    TAKT_DEFORM_DILATION,
    TAKT_DEFORM_PAD,
    TAKT_DEFORM_GROUPS,
    TAKT_DEFORM_OFFSET_GROUPS,
};
#define TAKT_DEFORM_ATTRS                                                                          \
    [TAKT_DEFORM_STRIDE] = {.name = "stride",                                                      \
                            .type = TAKT_ATTR_I64S,                                                \
                            .summary = "per spatial axis; ones if empty"},                         \
    [TAKT_DEFORM_DILATION] = {.name = "dilation",                                                  \
                              .type = TAKT_ATTR_I64S,                                              \
                              .summary = "distance of taps per spatial axis; ones if empty"},      \
    [TAKT_DEFORM_PAD] = {.name = "pad",                                                            \
                         .type = TAKT_ATTR_I64S,                                                   \
                         .summary = "before each spatial axis, then after each; zeros if empty"},  \
    [TAKT_DEFORM_GROUPS] = {.name = "groups",                                                      \
                            .type = TAKT_ATTR_I64,                                                 \
                            .fallback.i64 = 1,                                                     \
                            .summary = "groups of channels that w connects"},                      \
    [TAKT_DEFORM_OFFSET_GROUPS] = {.name = "offset_groups",                                        \
                                   .type = TAKT_ATTR_I64,                                          \
                                   .fallback.i64 = 1,                                              \
                                   .summary = "groups of channels with offsets of their own"}

typedef struct takt_deform {
    int64_t stride[2], dilation[2], pad[4], groups, offset_groups;
    int64_t channels, kernel[2], taps, out[2]; /* dimensions, or handles of them */
} takt_deform;

/* From the dimensions of x, w and the result. */
takt_deform takt_deform_of(const takt_attr *attr, const int64_t *x, const int64_t *w,
                           const int64_t *y);
TAKT_MUST_USE takt_status takt_deform_infer(takt_infer *in);
/* Interpolated elements as columns, then products. */
void takt_deform_lower(takt_graph *g, const takt_node *n, takt_id *out);

#endif
