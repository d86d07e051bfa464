/* peak_f32.c - checks peaks of f32 against the sums that they report; see check_peak_body.inc. */
typedef float elem;
#define ELEM 0.5f
#define SQUARE 0.25
#define AS_PEAK takt_kernel_as_peak_f32
#define CHECK check_peak_f32

#include "check_peak_body.inc"
