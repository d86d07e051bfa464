/* adam_f32_avx512.c - one step of Adam, 512-bit vectors. */
#include "kernel/adam_f32/adam_f32_body.h"
