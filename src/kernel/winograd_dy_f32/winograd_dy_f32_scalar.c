/* winograd_dy_f32_scalar.c - the transform of dy, the definition: one channel at a time. */
#include "kernel/winograd_dy_f32/winograd_dy_f32_body.h"
