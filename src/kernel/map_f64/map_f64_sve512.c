/* map_f64_sve512.c - element-wise operations, scalable vectors of 512 bits. */
#include "kernel/map_f64/map_f64_body.h"
