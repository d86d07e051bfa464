/* depthwise_f32_neon.c - depthwise convolution, four channels at a time. */
#include "kernel/depthwise_f32/depthwise_f32_body.h"
