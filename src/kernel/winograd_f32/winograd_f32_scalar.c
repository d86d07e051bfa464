/* winograd_f32_scalar.c - Winograd's transforms, the definition: one channel at a time. */
#include "kernel/winograd_f32/winograd_f32_body.h"
