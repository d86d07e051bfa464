/* reduce_u32_sve256.c - reductions, scalable vectors of 256 bits. */
#include "kernel/reduce_u32/reduce_u32_body.h"
