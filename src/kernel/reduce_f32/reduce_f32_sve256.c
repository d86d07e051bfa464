/* reduce_f32_sve256.c - reductions, scalable vectors of 256 bits. */
#include "kernel/reduce_f32/reduce_f32_body.h"
