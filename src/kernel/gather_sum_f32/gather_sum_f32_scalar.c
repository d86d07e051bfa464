/* gather_sum_f32_scalar.c - weighted sums of gathered floats, compiled for scalar. */
#include "kernel/gather_sum_f32/gather_sum_f32_body.h"
