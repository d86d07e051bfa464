/* map_u64_sve256.c - element-wise operations, scalable vectors of 256 bits. */
#include "kernel/map_u64/map_u64_body.h"
