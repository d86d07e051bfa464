/* peak_f32_sve256.c - how fast this processor multiplies and adds f32, scalable vectors of 256
 * bits. */
#include "kernel/peak_f32/peak_f32_body.h"
