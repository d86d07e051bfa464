/* winograd_f32_sve256.c - Winograd's transforms, eight channels a vector. */
#include "kernel/winograd_f32/winograd_f32_body.h"
