/* map_f64_neon.c - element-wise operations, 128-bit vectors. */
#include "kernel/map_f64/map_f64_body.h"
