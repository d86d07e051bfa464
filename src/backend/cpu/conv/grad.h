/* grad.h - gradients of convolutions in f32, f16 and bf16: each fills in p->step. */
#ifndef TAKT_BACKEND_CPU_CONV_GRAD_H
#define TAKT_BACKEND_CPU_CONV_GRAD_H

#include "backend/cpu/conv/shape.h"

/* The common beginning of each: the shape, all inputs and the result as operands of p->step, the
 * cost. */
TAKT_MUST_USE takt_status takt_conv_grad_open(takt_planner *p, takt_conv_shape *shape,
                                              takt_cost *cost);

TAKT_MUST_USE takt_status takt_conv_dx_compile(takt_planner *p);
TAKT_MUST_USE takt_status takt_conv_dw_compile(takt_planner *p);

/* The same for depthwise convolutions with channels last in f32. */
bool takt_depthwise_has_grad(const takt_conv_shape *c);
TAKT_MUST_USE takt_status takt_depthwise_grad_compile(takt_planner *p);

/* The same for weights of one panel of outputs, with channels last in f32: inputs are read in
 * place. */
bool takt_conv_dw_is_near(const takt_conv_shape *c);
TAKT_MUST_USE takt_status takt_conv_dw_near_compile(takt_planner *p);

/* The same for weights, where an output has few inputs, with channels last in f32. */
bool takt_conv_dw_is_few(const takt_conv_shape *c);
TAKT_MUST_USE takt_status takt_conv_dw_few_compile(takt_planner *p);

/* The same for the input, where that has few channels and weights are constant, with channels last
 * in f32; *is_done: this case applies, and the step is filled in. */
TAKT_MUST_USE takt_status takt_conv_dx_few_compile(takt_planner *p, bool *is_done);

#endif
