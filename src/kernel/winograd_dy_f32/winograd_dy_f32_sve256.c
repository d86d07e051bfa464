/* winograd_dy_f32_sve256.c - the transform of dy, eight channels a vector. */
#include "kernel/winograd_dy_f32/winograd_dy_f32_body.h"
