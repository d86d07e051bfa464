/* peak_bf16_scalar.c - bf16 one number at a time: portable C widens it and has no other way. */
#include <stdint.h>

#include "kernel/peak/peak.h"
#include "kernel/simd/half.h"

#define WIDEN half_from_bf16
#include "kernel/peak/peak_half.inc"

TAKT_KERNELS(peak_bf16, TAKT_KERNEL(peak_bf16, "scalar", 0, run, NULL));
