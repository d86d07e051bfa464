/* reduce_u64_sve512.c - reductions, scalable vectors of 512 bits. */
#include "kernel/reduce_u64/reduce_u64_body.h"
