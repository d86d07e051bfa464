/* map_i64_avx512.c - element-wise operations, 512-bit vectors. */
#include "kernel/map_i64/map_i64_body.h"
