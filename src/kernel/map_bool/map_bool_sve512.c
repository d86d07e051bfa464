/* map_bool_sve512.c - element-wise operations, scalable vectors of 512 bits. */
#include "kernel/map_bool/map_bool_body.h"
