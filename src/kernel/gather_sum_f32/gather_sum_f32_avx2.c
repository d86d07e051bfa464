/* gather_sum_f32_avx2.c - weighted sums of gathered floats, compiled for avx2. */
#include "kernel/gather_sum_f32/gather_sum_f32_body.h"
