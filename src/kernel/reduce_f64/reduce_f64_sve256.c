/* reduce_f64_sve256.c - reductions, scalable vectors of 256 bits. */
#include "kernel/reduce_f64/reduce_f64_body.h"
