/* map_u64_avx512.c - element-wise operations, 512-bit vectors. */
#include "kernel/map_u64/map_u64_body.h"
