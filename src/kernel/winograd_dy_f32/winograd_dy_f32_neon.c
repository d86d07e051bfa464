/* winograd_dy_f32_neon.c - the transform of dy, four channels a vector. */
#include "kernel/winograd_dy_f32/winograd_dy_f32_body.h"
