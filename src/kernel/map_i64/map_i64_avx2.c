/* map_i64_avx2.c - element-wise operations, 256-bit vectors. */
#include "kernel/map_i64/map_i64_body.h"
