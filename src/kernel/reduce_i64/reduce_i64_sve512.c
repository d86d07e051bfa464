/* reduce_i64_sve512.c - reductions, scalable vectors of 512 bits. */
#include "kernel/reduce_i64/reduce_i64_body.h"
