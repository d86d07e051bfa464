/* winograd_dy_f32_avx2.c - the transform of dy, eight channels a vector. */
#include "kernel/winograd_dy_f32/winograd_dy_f32_body.h"
