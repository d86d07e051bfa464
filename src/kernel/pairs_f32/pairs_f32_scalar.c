/* pairs_f32_scalar.c - sums of products, the definition: one channel at a time. */
#include "kernel/pairs_f32/pairs_f32_body.h"
