/* map_bool_avx2.c - element-wise operations, 256-bit vectors. */
#include "kernel/map_bool/map_bool_body.h"
