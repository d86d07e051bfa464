/* peak_f16.c - checks peaks of f16 against the sums that they report; see check_peak_body.inc. */
#include <stdint.h>

typedef uint16_t elem;
#define ELEM 0x3800 /* 0.5 */
#define SQUARE 0.25
#define AS_PEAK takt_kernel_as_peak_f16
#define CHECK check_peak_f16

#include "check_peak_body.inc"
