/* float_body.h - the table of element-wise operations on floats; float_drive.h says what must be
 * defined before.
 *
 * Also needed: MATH(name), the elementary function of the type; HOT_BY_FOUR, whether those of
 * HOT_OPS take four vectors a round; and FMOD, libm's remainder, which is exact and therefore the
 * same everywhere.
 */
#ifndef TAKT_KERNEL_MAP_FLOAT_BODY_H
#define TAKT_KERNEL_MAP_FLOAT_BODY_H

#include "kernel/map/float_drive.h"
#include "kernel/map/map.h"

static inline vec copy_of(vec x)
{
    return x;
}
static inline vec square_of(vec x)
{
    return VEC(mul)(x, x);
}
static inline vec reciprocal_of(vec x)
{
    return VEC(div)(VEC(set1)(1), x);
}
static inline vec rsqrt_of(vec x)
{
    return VEC(div)(VEC(set1)(1), VEC(sqrt)(x));
}
static inline vec sign_of(vec x)
{
    const vec plus = VEC(select)(VEC(gt)(x, VEC(zero)()), VEC(set1)(1), x);
    return VEC(select)(VEC(lt)(x, VEC(zero)()), VEC(set1)(-1), plus);
}
static inline mask is_nan_of(vec x, vec y)
{
    return VEC(ne)(x, y);
}
static inline mask is_inf_of(vec x, vec y)
{
    (void)y;
    return VEC(eq)(VEC(abs)(x), VEC(set1)((T)INFINITY));
}

static inline vec rem_of(vec a, vec b)
{
    T x[LANES], y[LANES];
    VEC(store)(x, a);
    VEC(store)(y, b);
    for (int i = 0; i < LANES; i++)
        x[i] = FMOD(x[i], y[i]);
    return VEC(load)(x);
}

/* Moves the remainder to the side of b; a zero takes b's sign. */
static inline vec mod_of(vec a, vec b)
{
    const vec r = rem_of(a, b), zero = VEC(zero)();
    const mask differ = MASK(xor)(VEC(lt)(r, zero), VEC(lt)(b, zero));
    const vec moved = VEC(select)(differ, VEC(add)(r, b), r);
    return VEC(select)(VEC(eq)(r, zero), VEC(copysign)(zero, b), moved);
}

#define ARGS                                                                                       \
    void *dst, const void *const *src, const unsigned char *is_scalar, size_t n, takt_fault *fault
#define X0 operand_of(src[0], is_scalar[0])
#define X1 operand_of(src[1], is_scalar[1])

#define UNARY(name, function, four, asks)                                                          \
    static void map_##name(ARGS)                                                                   \
    {                                                                                              \
        (void)fault;                                                                               \
        unary(dst, X0, n, function, four, asks);                                                   \
    }
#define BINARY(name, function, four)                                                               \
    static void map_##name(ARGS)                                                                   \
    {                                                                                              \
        (void)fault;                                                                               \
        binary(dst, X0, X1, n, function, four);                                                    \
    }
#define PREDICATE(name, function, second)                                                          \
    static void map_##name(ARGS)                                                                   \
    {                                                                                              \
        (void)fault;                                                                               \
        predicate(dst, X0, second, n, function);                                                   \
    }

#define LIGHT_OPS(X)                                                                               \
    X(COPY, copy_of)                                                                               \
    X(NEG, VEC(neg))                                                                               \
    X(ABS, VEC(abs))                                                                               \
    X(SIGN, sign_of)                                                                               \
    X(SQUARE, square_of)                                                                           \
    X(SQRT, VEC(sqrt))                                                                             \
    X(RSQRT, rsqrt_of)                                                                             \
    X(RECIPROCAL, reciprocal_of)                                                                   \
    X(FLOOR, VEC(floor))                                                                           \
    X(CEIL, VEC(ceil))                                                                             \
    X(ROUND, VEC(round))                                                                           \
    X(TRUNC, VEC(trunc))
#define HOT_OPS(X)                                                                                 \
    X(SIGMOID, sigmoid)                                                                            \
    X(TANH, tanh)                                                                                  \
    X(ERF, erf)                                                                                    \
    X(GELU, gelu)                                                                                  \
    X(GELU_TANH, gelu_tanh)                                                                        \
    X(HARD_SWISH, hard_swish)                                                                      \
    X(EXP, exp)                                                                                    \
    X(EXPM1, expm1)                                                                                \
    X(LOG, log)                                                                                    \
    X(LOG1P, log1p)
#define HEAVY_OPS(X)                                                                               \
    X(EXP2, exp2)                                                                                  \
    X(LOG2, log2)                                                                                  \
    X(SIN, sin)                                                                                    \
    X(COS, cos)                                                                                    \
    X(TAN, tan)                                                                                    \
    X(ASIN, asin)                                                                                  \
    X(ACOS, acos)                                                                                  \
    X(ATAN, atan)                                                                                  \
    X(SINH, sinh)                                                                                  \
    X(COSH, cosh)                                                                                  \
    X(ASINH, asinh)                                                                                \
    X(ACOSH, acosh)                                                                                \
    X(ATANH, atanh)

#define X(name, function) UNARY(name, function, true, false)
LIGHT_OPS(X)
#undef X
#define X(name, function) UNARY(name, MATH(function), HOT_BY_FOUR, false)
HOT_OPS(X)
#undef X
#define X(name, function) UNARY(name, MATH(function), false, false)
HEAVY_OPS(X)
#undef X
UNARY(RELU, VEC(relu), true, TAKT_SIMD_SET == 2) /* two instructions there, one elsewhere */
BINARY(ADD, VEC(add), true)
BINARY(SUB, VEC(sub), true)
BINARY(MUL, VEC(mul), true)
BINARY(QUOTIENT, VEC(div), true)
BINARY(MIN, VEC(min), true)
BINARY(MAX, VEC(max), true)
BINARY(POW, MATH(pow), false)
BINARY(MOD, mod_of, false)
BINARY(REM, rem_of, false)
PREDICATE(EQ, VEC(eq), X1)
PREDICATE(NE, VEC(ne), X1)
PREDICATE(LT, VEC(lt), X1)
PREDICATE(LE, VEC(le), X1)
PREDICATE(GT, VEC(gt), X1)
PREDICATE(GE, VEC(ge), X1)
PREDICATE(IS_NAN, is_nan_of, X0)
PREDICATE(IS_INF, is_inf_of, X0)

/* By one power of two, which batches and widths often are, it is the product with the reciprocal,
 * which is exact: the same bits at several times the rate. */
static void map_DIV(ARGS)
{
    int exponent;
    const T y = is_scalar[1] ? *(const T *)src[1] : 0;
    const bool is_power = LANES > 1 && y != 0 && fabs(frexp((double)y, &exponent)) == 0.5;
    const T inverse = is_power ? 1 / y : INFINITY;
    if (isfinite(inverse))
        map_MUL(dst, (const void *[]){src[0], &inverse}, is_scalar, n, fault);
    else
        map_QUOTIENT(dst, src, is_scalar, n, fault);
}

static void map_SELECT(ARGS)
{
    (void)fault;
    choose(dst, src[0], is_scalar[0] != 0, X1, operand_of(src[2], is_scalar[2]), n);
}

#define ROW(name) [TAKT_MAP_##name] = map_##name,
#define X(name, function) ROW(name)
static const takt_map_table table = {
    {LIGHT_OPS(X) HOT_OPS(X) HEAVY_OPS(X) ROW(RELU) ROW(ADD) ROW(SUB) ROW(MUL) ROW(DIV) ROW(MIN)
         ROW(MAX) ROW(POW) ROW(MOD) ROW(REM) ROW(EQ) ROW(NE) ROW(LT) ROW(LE) ROW(GT) ROW(GE)
             ROW(IS_NAN) ROW(IS_INF) ROW(SELECT)}};
#undef X

#endif
