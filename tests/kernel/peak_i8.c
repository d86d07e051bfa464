/* peak_i8.c - checks peaks of i8 against the sums that they report; see check_peak_body.inc. */
#include <stdint.h>

typedef int8_t elem;
#define ELEM 3
#define SQUARE 9
#define AS_PEAK takt_kernel_as_peak_i8
#define CHECK check_peak_i8

#include "check_peak_body.inc"
