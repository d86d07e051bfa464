/* reduce_u32_sve512.c - reductions, scalable vectors of 512 bits. */
#include "kernel/reduce_u32/reduce_u32_body.h"
