/* depthwise_f32_avx2.c - depthwise convolution, eight channels at a time. */
#include "kernel/depthwise_f32/depthwise_f32_body.h"
