/* depthwise_f32_sve256.c - depthwise convolution, eight channels at a time. */
#include "kernel/depthwise_f32/depthwise_f32_body.h"
