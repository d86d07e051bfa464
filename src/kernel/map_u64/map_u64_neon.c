/* map_u64_neon.c - element-wise operations, 128-bit vectors. */
#include "kernel/map_u64/map_u64_body.h"
