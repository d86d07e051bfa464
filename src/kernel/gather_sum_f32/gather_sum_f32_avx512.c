/* gather_sum_f32_avx512.c - weighted sums of gathered floats, compiled for avx512. */
#include "kernel/gather_sum_f32/gather_sum_f32_body.h"
