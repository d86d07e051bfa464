/* pairs_f32_sve256.c - sums of products, eight channels a vector. */
#include "kernel/pairs_f32/pairs_f32_body.h"
