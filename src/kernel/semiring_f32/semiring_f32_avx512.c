/* semiring_f32_avx512.c - products over semirings, sixteen columns a vector. */
#include "kernel/semiring_f32/semiring_f32_body.h"
