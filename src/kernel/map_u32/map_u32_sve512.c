/* map_u32_sve512.c - element-wise operations, scalable vectors of 512 bits. */
#include "kernel/map_u32/map_u32_body.h"
