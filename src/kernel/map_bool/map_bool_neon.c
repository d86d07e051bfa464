/* map_bool_neon.c - element-wise operations, 128-bit vectors. */
#include "kernel/map_bool/map_bool_body.h"
