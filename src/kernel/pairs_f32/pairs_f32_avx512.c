/* pairs_f32_avx512.c - sums of products, sixteen channels a vector. */
#include "kernel/pairs_f32/pairs_f32_body.h"
