/* semiring_f32_avx2.c - products over semirings, eight columns a vector. */
#include "kernel/semiring_f32/semiring_f32_body.h"
