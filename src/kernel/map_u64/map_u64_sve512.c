/* map_u64_sve512.c - element-wise operations, scalable vectors of 512 bits. */
#include "kernel/map_u64/map_u64_body.h"
