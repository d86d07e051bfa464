/* map_i64_sve512.c - element-wise operations, scalable vectors of 512 bits. */
#include "kernel/map_i64/map_i64_body.h"
