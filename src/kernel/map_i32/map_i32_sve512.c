/* map_i32_sve512.c - element-wise operations, scalable vectors of 512 bits. */
#include "kernel/map_i32/map_i32_body.h"
