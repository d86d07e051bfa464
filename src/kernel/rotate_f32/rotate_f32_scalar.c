/* rotate_f32_scalar.c - rotation of pairs of floats, compiled for scalar. */
#include "kernel/rotate_f32/rotate_f32_body.h"
