/* peak_f64_scalar.c - how fast this processor multiplies and adds f64, one number at a time. */
#include "kernel/peak_f64/peak_f64_body.h"
