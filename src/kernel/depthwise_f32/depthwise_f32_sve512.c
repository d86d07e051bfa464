/* depthwise_f32_sve512.c - depthwise convolution, sixteen channels at a time. */
#include "kernel/depthwise_f32/depthwise_f32_body.h"
