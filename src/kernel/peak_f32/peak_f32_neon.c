/* peak_f32_neon.c - how fast this processor multiplies and adds f32, 128-bit vectors. */
#include "kernel/peak_f32/peak_f32_body.h"
