/* map_u64_scalar.c - element-wise operations, the definition: one element at a time. */
#include "kernel/map_u64/map_u64_body.h"
