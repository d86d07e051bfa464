/* rotate_f32_neon.c - rotation of pairs of floats, compiled for neon. */
#include "kernel/rotate_f32/rotate_f32_body.h"
