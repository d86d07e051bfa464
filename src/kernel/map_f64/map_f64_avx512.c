/* map_f64_avx512.c - element-wise operations, 512-bit vectors. */
#include "kernel/map_f64/map_f64_body.h"
