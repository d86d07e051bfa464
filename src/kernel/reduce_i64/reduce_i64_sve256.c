/* reduce_i64_sve256.c - reductions, scalable vectors of 256 bits. */
#include "kernel/reduce_i64/reduce_i64_body.h"
