/* map_f32_sve512.c - element-wise operations, scalable vectors of 512 bits. */
#include "kernel/map_f32/map_f32_body.h"
