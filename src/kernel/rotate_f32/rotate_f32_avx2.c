/* rotate_f32_avx2.c - rotation of pairs of floats, compiled for avx2. */
#include "kernel/rotate_f32/rotate_f32_body.h"
