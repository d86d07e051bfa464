/* peak_f32_sve512.c - how fast this processor multiplies and adds f32, scalable vectors of 512
 * bits. */
#include "kernel/peak_f32/peak_f32_body.h"
