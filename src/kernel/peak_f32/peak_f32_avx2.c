/* peak_f32_avx2.c - how fast this processor multiplies and adds f32, 256-bit vectors. */
#include "kernel/peak_f32/peak_f32_body.h"
