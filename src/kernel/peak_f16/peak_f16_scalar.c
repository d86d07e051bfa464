/* peak_f16_scalar.c - f16 one number at a time: portable C widens it and has no other way. */
#include <stdint.h>

#include "kernel/peak/peak.h"
#include "kernel/simd/half.h"

#define WIDEN half_from_f16
#include "kernel/peak/peak_half.inc"

TAKT_KERNELS(peak_f16, TAKT_KERNEL(peak_f16, "scalar", 0, run, NULL));
