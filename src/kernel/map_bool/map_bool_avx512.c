/* map_bool_avx512.c - element-wise operations, 512-bit vectors. */
#include "kernel/map_bool/map_bool_body.h"
