/* map_i64_scalar.c - element-wise operations, the definition: one element at a time. */
#include "kernel/map_i64/map_i64_body.h"
