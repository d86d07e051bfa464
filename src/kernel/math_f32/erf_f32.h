/* erf_f32.h - the error function, and x times the normal distribution function, of floats.
 *
 * |x| is cut into eight parts of equal length, and in each the function is a polynomial in the
 * distance from the part's middle. Its coefficients come from tables of eight, which every ISA
 * can look up within registers. The polynomials are minimax (Remez exchange in 40 digits,
 * coefficients then rounded to float). Row k of a table has the coefficients of r^k.
 */
#ifndef TAKT_KERNEL_MATH_F32_ERF_F32_H
#define TAKT_KERNEL_MATH_F32_ERF_F32_H

#include "kernel/simd/simd.h"

/* Which part, and the distance from its middle. Adding 1.5 * 2^23 to a multiple of |x| leaves the
 * part's number in the low bits of the sum. */
typedef struct part_f32 {
    vf r;
    vx n;
} part_f32;

/* row[0] + row[1] r + ... + row[degree] r^degree, of this part's column. */
static inline vf part_f32_sum(const float (*row)[8], int degree, part_f32 part)
{
    vf p = vf_pick(row[degree], part.n);
    for (int k = degree - 1; k >= 0; k--)
        p = vf_fma(part.r, p, vf_pick(row[k], part.n));
    return p;
}

/* Within 1.2 units in the last place. The step between parts has few bits: r = a - n step is exact.
 * In the first part erf is r + r Q(r), in the others c + r Q(r) with c > r; from 3.93 on it
 * rounds to 1. */
static inline vf erf_f32(vf x)
{
    _Alignas(32) static const float row[][8] = {
        {0x1.06eba8p-3f, 0x1.b3aafcp-1f, 0x1.75a91ap-2f, 0x1.6c7e64p-4f, 0x1.946250p-7f,
         0x1.fe41d2p-11f, 0x1.6e2352p-15f, 0x1.2acc68p-20f},
        {-0x1.733662p-26f, -0x1.cee576p-2f, -0x1.8d03ccp-2f, -0x1.2274c4p-3f, -0x1.ada7f2p-6f,
         -0x1.52d7b0p-9f, -0x1.23c8c2p-13f, -0x1.15d2a8p-18f},
        {-0x1.8126f2p-2f, -0x1.fa033cp-4f, 0x1.395454p-3f, 0x1.efb8f0p-4f, 0x1.0ea452p-5f,
         0x1.16c128p-8f, 0x1.26c0aep-12f, 0x1.4c1fd8p-17f},
        {-0x1.c30e84p-16f, 0x1.77af84p-3f, 0x1.89281cp-5f, -0x1.92ba90p-5f, -0x1.b008fap-6f,
         -0x1.39c014p-8f, -0x1.a47eaap-12f, -0x1.1ccff2p-16f},
        {0x1.cf49d0p-4f, -0x1.f36390p-10f, -0x1.0f6fb4p-4f, -0x1.464e6ep-8f, 0x1.998c1cp-7f,
         0x1.f39f5cp-9f, 0x1.c038a8p-12f, 0x1.71c082p-16f},
        {-0x1.59d136p-10f, -0x1.8361f8p-5f, 0x1.44b942p-7f, 0x1.ff5876p-7f, -0x1.aac4f6p-10f,
         -0x1.12e13cp-9f, -0x1.7a8336p-12f, -0x1.989d3cp-16f},
        {-0x1.8bc96ep-6f, 0x1.e3dbfcp-8f, 0x1.945f24p-7f, -0x1.774270p-8f, -0x1.f6e6e4p-10f,
         0x1.5b683ep-11f, 0x1.cb8662p-13f, 0x1.88c516p-16f},
    };
    _Alignas(32) static const float first[8] = {0.0f,           0x1.1855a6p-1f, 0x1.bbef10p-1f,
                                                0x1.f39bc2p-1f, 0x1.fea422p-1f, 0x1.ffe96ap-1f,
                                                0x1.ffff24p-1f, 0x1.fffffcp-1f};
    static const float shifter[4] = {0x1.8p23f, 0x1.8p23f, 0x1.8p23f, 0x1.8p23f};
    const vf a = vf_at_most(vf_abs(x), 3.93f), step = vf_set1(0.53125f);
    const vf t = vf_fma(a, vf_set1(1.0f / 0.53125f), vf_addend(shifter));
    const part_f32 part = {vf_fnma(vf_sub(t, vf_set1(0x1.8p23f)), step, a), vf_index(t)};
    const vf q = part_f32_sum(row, 6, part);
    return vf_copysign(vf_fma(part.r, q, vf_larger(vf_pick(first, part.n), part.r)), x);
}

/* x P(x), P the normal distribution function, is max(x, 0) - |x| P(-|x|): what is subtracted is
 * small where the result is large. Within 1.2 units in the last place for x >= 0, and with an error
 * of at most 2^-24 |x| below. Here r = n - 21/16 |x|, rounded once. The last polynomial is exactly
 * 0 at 5.625, and so are all results from -5.625 down, where P is less than 2^-26. */
static inline vf gelu_f32(vf x)
{
    _Alignas(32) static const float row[][8] = {
        {0.5f, 0x1.c8d2dcp-3f, 0x1.053c3cp-4f, 0x1.6ce342p-7f, 0x1.2e5564p-10f, 0x1.23ff0ep-14f,
         0x1.451470p-19f, 0x1.95f3a4p-25f},
        {0x1.374040p-2f, 0x1.d1adf6p-3f, 0x1.85e720p-4f, 0x1.6d6184p-6f, 0x1.7f3aa2p-9f,
         0x1.c1e57cp-13f, 0x1.279decp-17f, 0x1.c32928p-23f},
        {0x1.7d5bfep-23f, 0x1.0e5358p-4f, 0x1.c4ad3ap-5f, 0x1.3e27f0p-6f, 0x1.bced56p-9f,
         0x1.4671e6p-12f, 0x1.0160d6p-16f, 0x1.a0e46ep-22f},
        {-0x1.e1bf54p-6f, -0x1.2e8006p-7f, 0x1.8ed18ap-7f, 0x1.2abf42p-7f, 0x1.335f72p-9f,
         0x1.25d21ep-12f, 0x1.1b5d74p-16f, 0x1.2f38e8p-21f},
        {0x1.2c9a4ep-15f, -0x1.fa06e2p-8f, -0x1.dba1b0p-10f, 0x1.11db9ap-9f, 0x1.0ecccap-10f,
         0x1.6b938ep-13f, 0x1.bc96a2p-17f, 0x1.06483ep-21f},
        {0x1.61febcp-9f, -0x1.2505eap-14f, -0x1.7b5978p-10f, -0x1.5cc94ap-14f, 0x1.1bfd72p-12f,
         0x1.47c644p-14f, 0x1.16af06p-17f, 0x1.aa9f28p-22f},
        {0x1.0aed9ap-12f, 0x1.2b4d90p-11f, -0x1.1b4680p-13f, -0x1.783d14p-13f, 0x1.93e9c2p-16f,
         0x1.8ac492p-16f, 0x1.ead286p-19f, 0x1.f0091ep-23f},
    };
    static const float shifter[4] = {0x1.8p23f, 0x1.8p23f, 0x1.8p23f, 0x1.8p23f};
    const vf a = vf_at_most(vf_abs(x), 5.625f), scale = vf_set1(1.3125f);
    const vf t = vf_fma(a, scale, vf_addend(shifter));
    const part_f32 part = {vf_fnma(a, scale, vf_sub(t, vf_set1(0x1.8p23f))), vf_index(t)};
    return vf_fnma(a, part_f32_sum(row, 6, part), vf_rise(x));
}

#endif
