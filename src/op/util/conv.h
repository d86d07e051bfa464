/* conv.h - shared by conv, conv_dx and conv_dw.
 *
 * All three are one trilinear form, sum over n, o, c, positions and taps of y * x * w, with a
 * different factor left out; so each is the gradient of the others.
 */
#ifndef TAKT_OP_UTIL_CONV_H
#define TAKT_OP_UTIL_CONV_H

#include "op/util/window.h"

enum {
    TAKT_CONV_STRIDE,
    TAKT_CONV_DILATION,
    TAKT_CONV_PAD,
    TAKT_CONV_GROUPS,
    TAKT_CONV_LAYOUT,
    TAKT_CONV_SHAPE, /* conv_dx and conv_dw only */
};

#define TAKT_CONV_ATTRS                                                                            \
    [TAKT_CONV_STRIDE] = {.name = "stride",                                                        \
                          .type = TAKT_ATTR_I64S,                                                  \
                          .summary = "step of the window on each spatial axis; ones if empty"},    \
    [TAKT_CONV_DILATION] = {.name = "dilation",                                                    \
                            .type = TAKT_ATTR_I64S,                                                \
                            .summary = "distance of taps on each spatial axis; ones if empty"},    \
    [TAKT_CONV_PAD] = {.name = "pad",                                                              \
                       .type = TAKT_ATTR_I64S,                                                     \
                       .summary = "zeros before each spatial axis, then after each"},              \
    [TAKT_CONV_GROUPS] = {.name = "groups",                                                        \
                          .type = TAKT_ATTR_I64,                                                   \
                          .fallback.i64 = 1,                                                       \
                          .summary = "independent groups of channels"},                            \
    [TAKT_CONV_LAYOUT] = {.name = "layout",                                                        \
                          .type = TAKT_ATTR_ENUM,                                                  \
                          .names = takt_layout_names,                                              \
                          .summary = "nchw: x [N, C, ...], w [O, C/groups, ...]; "                 \
                                     "nhwc: x [N, ..., C], w [O, ..., C/groups]"}

/* The type of y for x and w; failures name the op's own inputs. */
TAKT_MUST_USE takt_status takt_conv_infer(takt_infer *in, const takt_type *x, const takt_type *w,
                                          takt_type *y);

typedef enum takt_conv_result { TAKT_CONV_Y, TAKT_CONV_DX, TAKT_CONV_DW } takt_conv_result;
/* For conv, conv_dx, conv_dw and their Winograd forms. */
takt_conv_result takt_conv_result_of(const takt_op *op);
/* One of x, w and y is the zeroed result, the others are operands. */
void takt_conv_eval(const takt_eval *e, takt_conv_result which, const takt_array *x,
                    const takt_array *w, const takt_array *y, takt_array *out);

/* Calls of the three with the attributes of node `n`, one of them. */
takt_id takt_conv_make(takt_graph *g, const takt_node *n, takt_id x, takt_id w);
takt_id takt_conv_make_dx(takt_graph *g, const takt_node *n, takt_id dy, takt_id w,
                          const takt_type *x);
takt_id takt_conv_make_dw(takt_graph *g, const takt_node *n, takt_id x, takt_id dy,
                          const takt_type *w);

/* Two flops per tap, input channel and output element. */
void takt_conv_cost(const takt_graph *g, const takt_node *n, const takt_type *y, const takt_type *w,
                    takt_cost *cost);

/* 3x3 with stride, dilation and groups 1: supported by Winograd's transform. */
bool takt_conv_is_winograd(const takt_attr *attr, const takt_type *w);
/* Whether transformed weights would fill a cache, being four times as large: then they are
 * transformed in f32, so that a product can do it. Channels alone decide, since bits may not depend
 * on the size of a picture. */
static inline bool takt_conv_has_many_pairs(size_t cin, size_t cout)
{
    return cin * cout >= (size_t)1 << 15;
}
/* Fails if it is not one; `name` is the op's. */
TAKT_MUST_USE takt_status takt_conv_check_winograd(takt_infer *in, const char *name,
                                                   const takt_type *w);

/* The records of ops whose inputs 0 and 1 are x and w, and whose result is y. */
TAKT_MUST_USE takt_status takt_conv_y_eval(takt_eval *e);
void takt_conv_y_grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx);
void takt_conv_y_cost(const takt_graph *g, const takt_node *n, takt_cost *cost);

/* Likewise of dy and w to dx, and of x and dy to dw. */
TAKT_MUST_USE takt_status takt_conv_dx_infer(takt_infer *in);
TAKT_MUST_USE takt_status takt_conv_dx_eval(takt_eval *e);
void takt_conv_dx_grad(takt_graph *g, takt_id id, const takt_id *t, takt_id *dx);
void takt_conv_dx_cost(const takt_graph *g, const takt_node *n, takt_cost *cost);
TAKT_MUST_USE takt_status takt_conv_dw_infer(takt_infer *in);
TAKT_MUST_USE takt_status takt_conv_dw_eval(takt_eval *e);
void takt_conv_dw_grad(takt_graph *g, takt_id id, const takt_id *t, takt_id *dx);
void takt_conv_dw_cost(const takt_graph *g, const takt_node *n, takt_cost *cost);

#endif
