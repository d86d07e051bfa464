/* math.h - the vector vocabulary and the elementary functions as device code.
 *
 * They are the CPU's own headers, one lane wide. What nvcc makes of them has the CPU's bits:
 * every operation in them is one IEEE operation, and fma is written out.
 */
#ifndef TAKT_KERNEL_CUDA_MATH_H
#define TAKT_KERNEL_CUDA_MATH_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TAKT_UNIT_ISA scalar
#ifdef __CUDACC__
#define _Alignas(bytes) alignas(bytes)
#define inline __device__ inline
#endif

#include "kernel/math_f32/math_f32.h"
#include "kernel/math_f64/math_f64.h"

#ifdef __CUDACC__
#undef inline
#undef _Alignas
#endif

#endif
