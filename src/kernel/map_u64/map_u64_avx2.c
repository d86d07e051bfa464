/* map_u64_avx2.c - element-wise operations, 256-bit vectors. */
#include "kernel/map_u64/map_u64_body.h"
