/* gather_sum_f32_neon.c - weighted sums of gathered floats, compiled for neon. */
#include "kernel/gather_sum_f32/gather_sum_f32_body.h"
