/* map_f32_body.h - every variant of map_f32 is this, compiled for its ISA. */
#include "kernel/math_f32/math_f32.h"

#define T float
#define LANES VF
#define VEC(name) vf_##name
#define MASK(name) vm_##name
#define MATH(name) name##_f32
#define HOT_BY_FOUR true
#define FMOD fmodf

typedef vf vec;
typedef vm mask;

#include "kernel/map/float_body.h"

TAKT_KERNELS(map_f32, TAKT_KERNEL(map_f32, SIMD_NAME, SIMD_RANK, map_COPY, &table));
