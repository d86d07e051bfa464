/* adam_f32_neon.c - one step of Adam, 128-bit vectors. */
#include "kernel/adam_f32/adam_f32_body.h"
