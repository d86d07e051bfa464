/* map_f32_sve256.c - element-wise operations, scalable vectors of 256 bits. */
#include "kernel/map_f32/map_f32_body.h"
