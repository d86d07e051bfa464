/* map_f64_sve256.c - element-wise operations, scalable vectors of 256 bits. */
#include "kernel/map_f64/map_f64_body.h"
