/* map_i32_sve256.c - element-wise operations, scalable vectors of 256 bits. */
#include "kernel/map_i32/map_i32_body.h"
