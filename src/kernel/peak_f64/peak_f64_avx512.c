/* peak_f64_avx512.c - how fast this processor multiplies and adds f64, 512-bit vectors. */
#include "kernel/peak_f64/peak_f64_body.h"
