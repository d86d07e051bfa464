/* rows_f32_sve256.c - softmax and norms, scalable vectors of 256 bits. */
#include "kernel/rows_f32/rows_f32_body.h"
