/* map_f64_avx2.c - element-wise operations, 256-bit vectors. */
#include "kernel/map_f64/map_f64_body.h"
