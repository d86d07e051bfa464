/* peak_bf16_amx.c - how fast this processor multiplies and adds bf16, by tdpbf16ps. */
#include <stdint.h>

#define FACTOR uint16_t
#define SUM float
#define PRODUCT _tile_dpbf16ps
#include "kernel/peak/peak_amx.inc"

TAKT_KERNELS(peak_bf16, TAKT_KERNEL(peak_bf16, "amx", 40, run, NULL));
