/* simd.h - one vector vocabulary, so that a kernel body is written once and compiled per ISA.
 *
 *   vf  VF floats          vi  VF int32        vm   mask over VF lanes
 *   vd  VD doubles         vl  VD int64 bits   vmd  mask over VD lanes
 *
 * Every function gives the same bits in every ISA, except that a NaN result may be any quiet NaN.
 * That is why min and max are IEEE 754-2019 minimum/maximum everywhere, why out-of-range
 * conversions saturate and NaN converts to 0, and why there are no reciprocal estimates.
 *
 *   vf_load_n(p, n)      lanes n.. are +0; reads exactly n elements; 0 <= n <= VF
 *   vf_store_n(p, v, n)  writes exactly n elements
 *   vf_fma(a, b, c)      a*b + c, rounded once        vf_fnma(a, b, c)  c - a*b, rounded once
 *   vf_select(m, a, b)   m ? a : b
 *   vf_round             half to even
 *   vf_clamp(a, lo, hi)  bounds neither 0 nor NaN; a NaN passes
 *   vf_at_most, at_least one of the bounds
 *   vf_rise(a)           a < 0 ? -0 : a, so NaN passes
 *   vf_larger(a, b)      max, but of two zeros either, and with a NaN either of the two
 *   vf_lanes(a, from)    lane i is lane from[i] of a, of 8 or of 16; only where SIMD_LANES is
 * defined vf_scale(a, n)       a * 2^n rounded once, n whole; only where SIMD_SCALE is defined
 *   vf_addend(c)         a constant to add products to: c points at four equal floats
 *   vf_index(t)          t = 1.5 * 2^23 + n, 0 <= n < 8: the place n in tables; any for a NaN
 *   vf_pick(table, i)    table[n] of eight floats
 *   vf_relu(x)           x < 0 ? +0 : x
 *   vf_limit(x, hi)      vf_min for a bound that is not NaN
 *   vf_even(a, b)        lanes 0, 2, 4, ... of a, then those of b
 *   vf_lower(x, hi)      the same for one that is not zero either
 *   vf_raise(x, lo)      vf_max for a bound that is not NaN
 *   vi_trunc, vi_round   float -> int32, saturating, NaN -> 0
 *   vi_round_fast        the same for lanes known to be within +-2^31; anything else elsewhere
 *   vf_load_f16, ...     storage formats: uint16_t holding IEEE half or bfloat16
 *   vd_lo, vd_hi         lanes 0..VD-1 and VF-VD..VF-1 of a vf as doubles; vf_from_vd undoes it
 *
 * The scalar set has one lane and uses fma() from libm: exact, and slow where the processor has
 * none. Which set is taken follows the unit's ISA; outside kernel units, the compiler's target.
 */
#ifndef TAKT_KERNEL_SIMD_SIMD_H
#define TAKT_KERNEL_SIMD_SIMD_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernel/simd/half.h"

#define TAKT_SIMD_IS_scalar 1
#define TAKT_SIMD_IS_neon 2
#define TAKT_SIMD_IS_dotprod 2
#define TAKT_SIMD_IS_i8mm 2
#define TAKT_SIMD_IS_fp16 2
#define TAKT_SIMD_IS_bf16 2
#define TAKT_SIMD_IS_sve256 5
#define TAKT_SIMD_IS_sve512 5
#define TAKT_SIMD_IS_avx2 3
#define TAKT_SIMD_IS_avx512 4
#define TAKT_SIMD_IS_avx512vnni 4
#define TAKT_SIMD_IS_avx512bf16 4
#define TAKT_SIMD_IS_avx512fp16 4
#define TAKT_SIMD_IS_amx 4
#define TAKT_SIMD_IS_wasm 1

#ifdef TAKT_UNIT_ISA
#define TAKT_SIMD_PASTE_(a, b) a##b
#define TAKT_SIMD_PASTE(a, b) TAKT_SIMD_PASTE_(a, b)
#define TAKT_SIMD_SET TAKT_SIMD_PASTE(TAKT_SIMD_IS_, TAKT_UNIT_ISA)
#elif defined __AVX512F__ && defined __AVX512BW__ && defined __AVX512DQ__ && defined __AVX512VL__
#define TAKT_SIMD_SET 4
#elif defined __AVX2__ && defined __FMA__ && defined __F16C__
#define TAKT_SIMD_SET 3
#elif defined __aarch64__
#define TAKT_SIMD_SET 2
#else
#define TAKT_SIMD_SET 1
#endif

#if TAKT_SIMD_SET == 5 && __ARM_FEATURE_SVE_BITS == 512
#include "kernel/simd/simd_sve_f64.inc"
#define SIMD_NAME "sve512"
#define SIMD_RANK 40
#elif TAKT_SIMD_SET == 5
#include "kernel/simd/simd_sve_f64.inc"
#define SIMD_NAME "sve256"
#define SIMD_RANK 30
#elif TAKT_SIMD_SET == 4
#include "kernel/simd/simd_avx512.inc"
#include "kernel/simd/simd_avx512_f64.inc"
#define SIMD_NAME "avx512"
#define SIMD_RANK 40
#elif TAKT_SIMD_SET == 3
#include "kernel/simd/simd_avx2.inc"
#include "kernel/simd/simd_avx2_f64.inc"
#define SIMD_NAME "avx2"
#define SIMD_RANK 20
#elif TAKT_SIMD_SET == 2
#include "kernel/simd/simd_neon.inc"
#include "kernel/simd/simd_neon_f64.inc"
#define SIMD_NAME "neon"
#define SIMD_RANK 20
#elif TAKT_SIMD_SET == 1
#include "kernel/simd/simd_scalar.h"
#include "kernel/simd/simd_scalar_f64.h"
#define SIMD_NAME "scalar"
#define SIMD_RANK 0
#else
#error "TAKT_UNIT_ISA names an ISA that simd.h does not know"
#endif

#include "kernel/simd/simd_common.inc"

#endif
