/* semiring_f32_scalar.c - products over semirings, the definition: one column at a time. */
#include "kernel/semiring_f32/semiring_f32_body.h"
