/* peak_f64.c - checks peaks of f64 against the sums that they report; see check_peak_body.inc. */
typedef double elem;
#define ELEM 0.5
#define SQUARE 0.25
#define AS_PEAK takt_kernel_as_peak_f64
#define CHECK check_peak_f64

#include "check_peak_body.inc"
