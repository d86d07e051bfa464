/* map_f64_scalar.c - element-wise operations, the definition: one element at a time. */
#include "kernel/map_f64/map_f64_body.h"
