/* map_bool_sve256.c - element-wise operations, scalable vectors of 256 bits. */
#include "kernel/map_bool/map_bool_body.h"
