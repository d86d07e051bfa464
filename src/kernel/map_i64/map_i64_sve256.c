/* map_i64_sve256.c - element-wise operations, scalable vectors of 256 bits. */
#include "kernel/map_i64/map_i64_body.h"
