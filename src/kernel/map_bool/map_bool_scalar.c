/* map_bool_scalar.c - element-wise operations, the definition: one element at a time. */
#include "kernel/map_bool/map_bool_body.h"
