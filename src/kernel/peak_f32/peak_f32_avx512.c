/* peak_f32_avx512.c - how fast this processor multiplies and adds f32, 512-bit vectors. */
#include "kernel/peak_f32/peak_f32_body.h"
