/* map_u32_sve256.c - element-wise operations, scalable vectors of 256 bits. */
#include "kernel/map_u32/map_u32_body.h"
