/* adam_f32_avx2.c - one step of Adam, 256-bit vectors. */
#include "kernel/adam_f32/adam_f32_body.h"
