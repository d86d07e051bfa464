/* peak_i8.c - holds peaks of i8 to what they say they add up; how is in check_peak_body.inc. */
#include <stdint.h>

typedef int8_t elem;
#define ELEM 3
#define SQUARE 9
#define AS_PEAK takt_kernel_as_peak_i8
#define CHECK check_peak_i8

#include "check_peak_body.inc"
