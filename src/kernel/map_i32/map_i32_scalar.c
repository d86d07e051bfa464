/* map_i32_scalar.c - element-wise operations, the definition: one element at a time. */
#include "kernel/map_i32/map_i32_body.h"
