/* peak_f32_body.h - the peak of f32, written once for all ISAs. */
#define PEAK_T float
#define PEAK_V vf
#define PEAK_LANES ((size_t)VF)
#define PEAK_LOAD vf_load
#define PEAK_STORE vf_store
#define PEAK_ZERO vf_set1(0.0f)
#define PEAK_FMA vf_fma
#include "kernel/peak/peak_body.h"

TAKT_KERNELS(peak_f32, TAKT_KERNEL(peak_f32, SIMD_NAME, SIMD_RANK, run, NULL));
