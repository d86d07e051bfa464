/* peak_f32_scalar.c - how fast this processor multiplies and adds f32, one number at a time. */
#include "kernel/peak_f32/peak_f32_body.h"
