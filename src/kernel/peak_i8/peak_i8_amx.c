/* peak_i8_amx.c - how fast this processor multiplies and adds i8, by tdpbssd. */
#include <stdint.h>

#define FACTOR int8_t
#define SUM int32_t
#define PRODUCT _tile_dpbssd
#include "kernel/peak/peak_amx.inc"

TAKT_KERNELS(peak_i8, TAKT_KERNEL(peak_i8, "amx", 40, run, NULL));
