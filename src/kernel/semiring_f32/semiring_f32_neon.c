/* semiring_f32_neon.c - products over semirings, four columns a vector. */
#include "kernel/semiring_f32/semiring_f32_body.h"
