/* pool.h - shared by the pools and their gradients. */
#ifndef TAKT_OP_UTIL_POOL_H
#define TAKT_OP_UTIL_POOL_H

#include "op/util/window.h"

enum {
    TAKT_POOL_KERNEL,
    TAKT_POOL_STRIDE,
    TAKT_POOL_DILATION,
    TAKT_POOL_PAD,
    TAKT_POOL_LAYOUT,
    TAKT_POOL_CEIL,
    TAKT_POOL_COUNT_PAD, /* average pools only */
    TAKT_POOL_SHAPE,     /* avg_pool_dx only */
};

#define TAKT_POOL_ATTRS                                                                            \
    [TAKT_POOL_KERNEL] = {.name = "kernel",                                                        \
                          .type = TAKT_ATTR_I64S,                                                  \
                          .is_required = true,                                                     \
                          .summary = "size of the window on each spatial axis"},                   \
    [TAKT_POOL_STRIDE] = {.name = "stride",                                                        \
                          .type = TAKT_ATTR_I64S,                                                  \
                          .summary = "step of the window on each spatial axis; ones if empty"},    \
    [TAKT_POOL_DILATION] = {.name = "dilation",                                                    \
                            .type = TAKT_ATTR_I64S,                                                \
                            .summary = "distance of taps on each spatial axis; ones if empty"},    \
    [TAKT_POOL_PAD] = {.name = "pad",                                                              \
                       .type = TAKT_ATTR_I64S,                                                     \
                       .summary = "padding before each spatial axis, then after each"},            \
    [TAKT_POOL_LAYOUT] = {.name = "layout",                                                        \
                          .type = TAKT_ATTR_ENUM,                                                  \
                          .names = takt_layout_names,                                              \
                          .summary = "nchw: [N, C, ...]; nhwc: [N, ..., C]"},                      \
    [TAKT_POOL_CEIL] = {.name = "ceil",                                                            \
                        .type = TAKT_ATTR_BOOL,                                                    \
                        .summary = "a last window may stick out beyond the padding"}

#define TAKT_POOL_COUNT_ATTR                                                                       \
    [TAKT_POOL_COUNT_PAD] = {                                                                      \
        .name = "count_pad", .type = TAKT_ATTR_BOOL, .summary = "padding counts in the average"}

/* The type of the pooled `x`. */
TAKT_MUST_USE takt_status takt_pool_infer(takt_infer *in, const takt_type *x, takt_type *y);
takt_window takt_pool_window(const takt_attr *attr, int rank);

/* Calls visit for every window: `y` is the flat index of its element in the pooled array. Taps in
 * padding are left out; `taps` holds flat indices into x, `divisor` is that of an average. */
typedef struct takt_pool_visit {
    size_t y;
    const size_t *taps;
    size_t tap_count;
    double divisor;
} takt_pool_visit;
typedef void takt_pool_fn(void *user, const takt_pool_visit *window);
TAKT_MUST_USE takt_status takt_pool_each(takt_eval *e, const takt_array *x, const takt_array *y,
                                         takt_pool_fn *visit, void *user);
/* The tap with the largest value: the first on ties, the first NaN if there is one; needs at least
 * one tap. */
size_t takt_pool_largest(const takt_array *x, const takt_pool_visit *window);

/* A call with the attributes of node `n`; `shape` if the op has that attribute, else NULL. */
takt_id takt_pool_make(takt_graph *g, const takt_op *op, const takt_node *n, size_t count,
                       const takt_id *in, const takt_type *shape);
/* One flop per tap and element of y. */
void takt_pool_cost(const takt_graph *g, const takt_node *n, const takt_type *y, takt_cost *cost);

#endif
