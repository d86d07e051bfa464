/* pairs_f32_neon.c - sums of products, four channels a vector. */
#include "kernel/pairs_f32/pairs_f32_body.h"
