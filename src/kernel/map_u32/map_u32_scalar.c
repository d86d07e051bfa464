/* map_u32_scalar.c - element-wise operations, the definition: one element at a time. */
#include "kernel/map_u32/map_u32_body.h"
