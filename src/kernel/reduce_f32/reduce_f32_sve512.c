/* reduce_f32_sve512.c - reductions, scalable vectors of 512 bits. */
#include "kernel/reduce_f32/reduce_f32_body.h"
