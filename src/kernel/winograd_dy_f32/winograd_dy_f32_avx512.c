/* winograd_dy_f32_avx512.c - the transform of dy, sixteen channels a vector. */
#include "kernel/winograd_dy_f32/winograd_dy_f32_body.h"
