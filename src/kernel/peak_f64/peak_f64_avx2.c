/* peak_f64_avx2.c - how fast this processor multiplies and adds f64, 256-bit vectors. */
#include "kernel/peak_f64/peak_f64_body.h"
