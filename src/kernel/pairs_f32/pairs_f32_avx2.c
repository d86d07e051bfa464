/* pairs_f32_avx2.c - sums of products, eight channels a vector. */
#include "kernel/pairs_f32/pairs_f32_body.h"
