/* peak_f64_sve512.c - how fast this processor multiplies and adds f64, scalable vectors of 512
 * bits. */
#include "kernel/peak_f64/peak_f64_body.h"
