/* convert_bf16.c - conversions, 128-bit vectors; to bf16 by the processor's own rounding. */
#define CONVERT_NAME "bf16"
#define CONVERT_RANK 25

#include "kernel/convert/convert_body.inc"
