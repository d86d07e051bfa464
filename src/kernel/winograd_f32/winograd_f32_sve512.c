/* winograd_f32_sve512.c - Winograd's transforms, sixteen channels a vector. */
#include "kernel/winograd_f32/winograd_f32_body.h"
