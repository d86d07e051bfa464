/* map_f64_body.h - every variant of map_f64 is this, compiled for its ISA. */
#include "kernel/math_f64/math_f64.h"

#define T double
#define LANES VD
#define VEC(name) vd_##name
#define MASK(name) vmd_##name
#define MATH(name) name##_f64
#define HOT_BY_FOUR false
#define FMOD fmod

typedef vd vec;
typedef vmd mask;

#include "kernel/map/float_body.h"

TAKT_KERNELS(map_f64, TAKT_KERNEL(map_f64, SIMD_NAME, SIMD_RANK, map_COPY, &table));
