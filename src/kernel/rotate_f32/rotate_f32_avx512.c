/* rotate_f32_avx512.c - rotation of pairs of floats, compiled for avx512. */
#include "kernel/rotate_f32/rotate_f32_body.h"
