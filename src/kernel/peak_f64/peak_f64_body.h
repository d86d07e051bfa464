/* peak_f64_body.h - the peak of f64, written once for all ISAs. */
#define PEAK_T double
#define PEAK_V vd
#define PEAK_LANES ((size_t)VD)
#define PEAK_LOAD vd_load
#define PEAK_STORE vd_store
#define PEAK_ZERO vd_set1(0.0)
#define PEAK_FMA vd_fma
#include "kernel/peak/peak_body.h"

TAKT_KERNELS(peak_f64, TAKT_KERNEL(peak_f64, SIMD_NAME, SIMD_RANK, run, NULL));
