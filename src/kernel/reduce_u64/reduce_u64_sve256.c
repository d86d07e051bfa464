/* reduce_u64_sve256.c - reductions, scalable vectors of 256 bits. */
#include "kernel/reduce_u64/reduce_u64_body.h"
