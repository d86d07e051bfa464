/* map_f32_scalar.c - element-wise operations, the definition: one element at a time. */
#include "kernel/map_f32/map_f32_body.h"
