/* peak_f64_sve256.c - how fast this processor multiplies and adds f64, scalable vectors of 256
 * bits. */
#include "kernel/peak_f64/peak_f64_body.h"
