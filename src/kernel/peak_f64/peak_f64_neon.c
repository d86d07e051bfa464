/* peak_f64_neon.c - how fast this processor multiplies and adds f64, 128-bit vectors. */
#include "kernel/peak_f64/peak_f64_body.h"
