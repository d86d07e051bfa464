/* winograd_f32_neon.c - Winograd's transforms, four channels a vector. */
#include "kernel/winograd_f32/winograd_f32_body.h"
