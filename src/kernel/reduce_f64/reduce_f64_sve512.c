/* reduce_f64_sve512.c - reductions, scalable vectors of 512 bits. */
#include "kernel/reduce_f64/reduce_f64_body.h"
