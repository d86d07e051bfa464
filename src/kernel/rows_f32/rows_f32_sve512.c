/* rows_f32_sve512.c - softmax and norms, scalable vectors of 512 bits. */
#include "kernel/rows_f32/rows_f32_body.h"
