/* exp_f32.h - exp, expm1, sigmoid, tanh and gelu by tanh of floats on the simd vocabulary.
 *
 * One sequence of operations for every ISA, each operation rounded as written, so the bits agree
 * everywhere. The polynomials are minimax in the relative error of the result (Remez exchange in
 * 50 digits, coefficients then rounded to float). Errors over all inputs, in units of the last
 * place of the exact result, are printed by tests/unit/math_accuracy --all.
 */
#ifndef TAKT_KERNEL_MATH_F32_EXP_F32_H
#define TAKT_KERNEL_MATH_F32_EXP_F32_H

#include "kernel/simd/simd.h"

/* x = n ln 2 + r with |r| <= ln(2)/2.
 *
 * Adding 1.5 * 2^23 leaves n in the low bits of the sum, with no conversion that NaN could upset.
 * ln2_hi has 15 bits, so n * ln2_hi and the subtraction are exact and r is rounded once. */
typedef struct exp_f32_parts {
    vf n, r, exact; /* exact: r before its rounding, but for n * ln2_lo */
    vi bits;        /* n in the low bits, and nothing else in the lowest nine */
} exp_f32_parts;

#define EXP_F32_LN2_LO vf_set1(0x1.7f7d1cp-20f)
#define EXP_F32_FOUR(c)                                                                            \
    {                                                                                              \
        c, c, c, c                                                                                 \
    }

static inline exp_f32_parts exp_f32_reduce(vf x)
{
    static const float shifter[4] = EXP_F32_FOUR(0x1.8p23f);
    const vf t = vf_fma(x, vf_set1(0x1.715476p+0f), vf_addend(shifter));
    exp_f32_parts e = {.n = vf_sub(t, vf_set1(0x1.8p23f)), .bits = vf_as_vi(t)};
    e.exact = vf_fnma(e.n, vf_set1(0x1.62e4p-1f), x);
    e.r = vf_fnma(e.n, EXP_F32_LN2_LO, e.exact);
    return e;
}

/* sum + r^2 (exp(r) - 1 - r) / r^2, in pairs of terms: few wait for one another. */
static inline vf exp_f32_rest(vf r, vf sum)
{
    static const float c2[4] = EXP_F32_FOUR(0x1.fffffcp-2f), c4[4] = EXP_F32_FOUR(0x1.5558f4p-5f);
    const vf low = vf_fma(r, vf_set1(0x1.555490p-3f), vf_addend(c2));
    const vf high = vf_fma(r, vf_set1(0x1.123a6ep-7f), vf_addend(c4));
    const vf u = vf_mul(r, r);
    return vf_fma(u, vf_fma(u, vf_fma(u, vf_set1(0x1.6a23c0p-10f), high), low), sum);
}

/* p * 2^n in two halves: the first product is exact, so a denormal result is rounded once. */
static inline vf exp_f32_scale(vf p, const exp_f32_parts *e)
{
#ifdef SIMD_SCALE
    return vf_scale(p, e->n);
#else
    const vi one = vi_set1(127 << 23), half = vi_shr(e->bits, 1);
    const vf first = vi_as_vf(vi_add(vi_shl(half, 23), one));
    const vf second = vi_as_vf(vi_add(vi_shl(vi_sub(e->bits, half), 23), one));
    return vf_mul(vf_mul(p, first), second);
#endif
}

/* The same of p from 1/2 to 2 for n from -190 to 63, where 2^(n + 64) is a float: four operations
 * less. */
static inline vf exp_f32_scale_down(vf p, const exp_f32_parts *e)
{
#ifdef SIMD_SCALE
    return vf_scale(p, e->n);
#else
    const vf scale = vi_as_vf(vi_add(vi_shl(e->bits, 23), vi_set1((127 + 64) << 23)));
    return vf_mul(vf_mul(p, scale), vf_set1(0x1p-64f));
#endif
}

/* The same for n from -126 to 120, where the product is exact unless it is denormal. */
static inline vf exp_f32_scale_near(vf p, const exp_f32_parts *e)
{
#ifdef SIMD_SCALE
    return vf_scale(p, e->n);
#else
    return vf_mul(p, vi_as_vf(vi_add(vi_shl(e->bits, 23), vi_set1(127 << 23))));
#endif
}

/* exp(x) for x in [-104, 89], within 1.3 units in the last place. */
static inline vf exp_f32_plain(vf x)
{
    const exp_f32_parts e = exp_f32_reduce(x);
    return exp_f32_scale(exp_f32_rest(e.r, vf_add(vf_set1(1.0f), e.r)), &e);
}

/* The same within 0.53 units for x <= 0, for functions that have errors of their own to add: what
 * 1 + r and r lose to rounding is known exactly, and added to the small terms. */
static inline vf exp_f32_fine(vf x)
{
    const exp_f32_parts e = exp_f32_reduce(x);
    const vf one = vf_set1(1.0f), sum = vf_add(one, e.r);
    vf lost = vf_add(vf_sub(one, sum), e.r);
    lost = vf_add(lost, vf_fnma(e.n, EXP_F32_LN2_LO, vf_sub(e.exact, e.r)));
    return exp_f32_scale_down(vf_add(sum, exp_f32_rest(e.r, lost)), &e);
}

static inline vf exp_f32(vf x)
{
    return exp_f32_plain(vf_clamp(x, -104.0f, 89.0f));
}

/* 2^n (exp(r) - 1) + (2^n - 1), everything halved until the end so that 2^128 is not needed. Where
 * n = 0 it is exp(r) - 1, with nothing lost. */
static inline vf expm1_f32(vf x)
{
    const exp_f32_parts e = exp_f32_reduce(vf_clamp(x, -64.0f, 89.0f));
    const vf half = vi_as_vf(vi_add(vi_shl(e.bits, 23), vi_set1(126 << 23)));
    const vf p = vf_fma(half, exp_f32_rest(e.r, e.r), vf_sub(half, vf_set1(0.5f)));
    return vf_copysign(vf_add(p, p), x);
}

/* exp_f32(x), bit for bit, of x <= 0. */
static inline vf exp_down_f32(vf x)
{
    const exp_f32_parts e = exp_f32_reduce(vf_at_least(x, -104.0f));
    return exp_f32_scale_down(exp_f32_rest(e.r, vf_add(vf_set1(1.0f), e.r)), &e);
}

/* exp_f32(x), bit for bit, of x <= 0, but 0 below -87.3, where it would be denormal: x86-64 takes
 * a hundred times as long to make such a number, or to multiply by it, and next to 1 it is nothing.
 */
static inline vf exp_share_f32(vf x)
{
    const float least = -87.3f;
    const exp_f32_parts e = exp_f32_reduce(vf_at_least(x, least));
    const vf y = exp_f32_scale_near(exp_f32_rest(e.r, vf_add(vf_set1(1.0f), e.r)), &e);
    return vf_select(vf_lt(x, vf_set1(least)), vf_zero(), y);
}

/* 1/(1 + exp(-x)) as e/(1 + e) with e = exp(x) for negative x, so that small results stay exact.
 * One step of Newton's on the quotient takes back the rounding of 1 + e and of the division;
 * 1/(1 + e) is the quotient itself, or one minus it. */
static inline vf sigmoid_f32(vf x)
{
    const vf one = vf_set1(1.0f);
    const vm minus = vf_lt(x, vf_zero());
    const vf a = vf_at_least(vi_as_vf(vi_or(vf_as_vi(x), vi_set1(INT32_MIN))), -104.0f); /* -|x| */
    const vf e = exp_f32_fine(a), top = vf_select(minus, e, one);
    const vf sum = vf_add(one, e), lost = vf_add(vf_sub(one, sum), e);
    const vf y = vf_div(top, sum);
    const vf rest = vf_fnma(y, lost, vf_fnma(y, sum, top));
    return vf_fma(rest, vf_select(minus, vf_sub(one, y), y), y);
}

static inline vf silu_f32(vf x)
{
    return vf_mul(x, sigmoid_f32(x));
}

/* (x / 2) (1 + tanh(z / 2)) is x / (1 + exp(-z)), here with -z = x (k + 0.044715 k x^2) and
 * k = -2 sqrt(2/pi): within 2.2 units in the last place for x >= 0, with an error of at most 2^-23
 * |x| below. From -256 down it is -0. */
static inline vf gelu_tanh_f32(vf x)
{
    const vf b = vf_clamp(x, -256.0f, INFINITY);
    const vf slope = vf_fma(vf_mul(b, b), vf_set1(-0x1.2444f2p-4f), vf_set1(-0x1.988454p+0f));
    return vf_div(b, vf_add(vf_set1(1.0f), exp_f32(vf_mul(b, slope))));
}

/* x * (clip(x + 3, 0, 6) / 6), each operation rounded. The quotient is a product with 1/6 plus
 * a correction: correctly rounded for every dividend that x + 3 can be. */
static inline vf hard_swish_f32(vf x)
{
    const vf six = vf_set1(6.0f), sixth = vf_set1(0x1.555556p-3f);
    const vf line = vf_min(vf_max(vf_add(x, vf_set1(3.0f)), vf_zero()), six);
    const vf near = vf_mul(line, sixth);
    return vf_mul(x, vf_fma(vf_fnma(near, six, line), sixth, near));
}

/* Below 0.625 an odd polynomial, above it 1 - 2/(exp(2x) + 1); from 9.02 on tanh rounds to 1. */
static inline vf tanh_f32(vf x)
{
    const vf a = vf_abs(x), u = vf_mul(a, a), one = vf_set1(1.0f);
    vf p = vf_fma(u, vf_set1(0x1.18e23ep-9f), vf_set1(-0x1.0bf51ap-7f));
    p = vf_fma(u, p, vf_set1(0x1.638b60p-6f));
    p = vf_fma(u, p, vf_set1(-0x1.b9ee90p-5f));
    p = vf_fma(u, p, vf_set1(0x1.111066p-3f));
    p = vf_fma(u, p, vf_set1(-0x1.555554p-2f));
    const vf small = vf_fma(vf_mul(u, p), a, a);
    const vf b = vf_select(vf_gt(a, vf_set1(10.0f)), vf_set1(10.0f), a);
    const exp_f32_parts parts = exp_f32_reduce(vf_add(b, b));
    const vf e = exp_f32_scale_near(exp_f32_rest(parts.r, vf_add(one, parts.r)), &parts);
    const vf large = vf_sub(one, vf_div(vf_set1(2.0f), vf_add(e, one)));
    return vf_copysign(vf_select(vf_lt(a, vf_set1(0.625f)), small, large), x);
}

#endif
