/* depthwise_f32_scalar.c - depthwise convolution, the definition: one channel at a time. */
#include "kernel/depthwise_f32/depthwise_f32_body.h"
