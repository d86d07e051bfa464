/* map_i64_neon.c - element-wise operations, 128-bit vectors. */
#include "kernel/map_i64/map_i64_body.h"
