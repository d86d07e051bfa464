/* depthwise_i8_scalar.c - the contract, word for word. */
#include "kernel/depthwise_i8/depthwise_i8.h"

#include "kernel/depthwise_i8/depthwise_i8_body.inc"

TAKT_KERNELS(depthwise_i8, TAKT_KERNEL(depthwise_i8, "scalar", 0, run, NULL));
