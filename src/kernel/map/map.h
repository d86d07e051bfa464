/* map.h - contract of the element-wise kernels.
 *
 * Families map_f32, map_f64, map_i32, map_i64, map_u32, map_u64 and map_bool share it. Each variant
 * is one table with a function per operation:
 *
 *     takt_map_fn *f = takt_map_find(takt_kernel_find("map_f32", isas, NULL, 0, NULL),
 *                                    TAKT_MAP_ADD);
 *     f(dst, (const void *[]){a, b}, (const unsigned char[]){0, 1}, n, NULL);
 *
 *   computes   dst[i] = op(src[0][i], src[1][i], ...), i < n; an operand whose is_scalar is not 0
 *              is one value, used for every i
 *   types      dst and operands have the family's type; but predicates write u8 0 or 1, and the
 *              first operand of select is u8, true where not 0. map_bool: u8 0 or 1 throughout.
 *   aliasing   dst may be exactly an operand of the same element size; no other overlap
 *   alignment  none beyond that of the element
 *   accuracy   sqrt and the four operations are IEEE; exp, log, tanh, erf, sin, cos and sigmoid are
 *              within 2 ULP, the other functions too in f32, within 4 in f64; but gelu within 2 and
 *              gelu_tanh within 3 ULP for x >= 0, with errors of at most 2^-24 and 2^-23 |x| below
 *   bits       equal in every variant, NaN payloads apart
 *   integers   wrap; div rounds towards 0; mod has the sign of the divisor, rem of the dividend;
 *              shifts by the width or more, or by a negative count, give 0; shr fills with the sign
 *   fault      div, mod, rem by 0, and 0 to a negative power, give 0 and record the element;
 *              `fault` may be NULL for all other operations, and always in the float families
 */
#ifndef TAKT_KERNEL_MAP_MAP_H
#define TAKT_KERNEL_MAP_MAP_H

#include <stddef.h>

#include "kernel/fault.h"
#include "kernel/kernel.h"

/* X(NAME, "name", operands, result, what): result V is the family's type, B a byte 0 or 1. */
#define TAKT_MAP_OPS(X)                                                                            \
    X(COPY, "copy", 1, V, "x")                                                                     \
    X(NEG, "neg", 1, V, "-x")                                                                      \
    X(ABS, "abs", 1, V, "|x|; the least integer wraps")                                            \
    X(SIGN, "sign", 1, V, "-1, 1, or x itself where it is 0 or NaN")                               \
    X(SQUARE, "square", 1, V, "x * x")                                                             \
    X(SQRT, "sqrt", 1, V, "square root")                                                           \
    X(RSQRT, "rsqrt", 1, V, "1 / sqrt(x), both rounded")                                           \
    X(RECIPROCAL, "reciprocal", 1, V, "1 / x")                                                     \
    X(FLOOR, "floor", 1, V, "towards -inf")                                                        \
    X(CEIL, "ceil", 1, V, "towards +inf")                                                          \
    X(ROUND, "round", 1, V, "to nearest, halves to even")                                          \
    X(TRUNC, "trunc", 1, V, "towards 0")                                                           \
    X(RELU, "relu", 1, V, "x < 0 ? +0 : x, so NaN and -0 pass")                                    \
    X(SIGMOID, "sigmoid", 1, V, "1 / (1 + exp(-x))")                                               \
    X(TANH, "tanh", 1, V, "hyperbolic tangent")                                                    \
    X(ERF, "erf", 1, V, "error function")                                                          \
    X(GELU, "gelu", 1, V, "x times the normal distribution function")                              \
    X(GELU_TANH, "gelu_tanh", 1, V, "the same by the older approximation")                         \
    X(HARD_SWISH, "hard_swish", 1, V, "x * (clip(x + 3, 0, 6) / 6), each operation rounded")       \
    X(SILU, "silu", 1, V, "x * sigmoid(x), both rounded")                                          \
    X(EXP, "exp", 1, V, "e^x")                                                                     \
    X(EXP2, "exp2", 1, V, "2^x")                                                                   \
    X(EXPM1, "expm1", 1, V, "e^x - 1")                                                             \
    X(LOG, "log", 1, V, "natural logarithm")                                                       \
    X(LOG2, "log2", 1, V, "logarithm to base 2")                                                   \
    X(LOG1P, "log1p", 1, V, "log(1 + x)")                                                          \
    X(SIN, "sin", 1, V, "sine")                                                                    \
    X(COS, "cos", 1, V, "cosine")                                                                  \
    X(TAN, "tan", 1, V, "tangent")                                                                 \
    X(ASIN, "asin", 1, V, "arc sine")                                                              \
    X(ACOS, "acos", 1, V, "arc cosine")                                                            \
    X(ATAN, "atan", 1, V, "arc tangent")                                                           \
    X(SINH, "sinh", 1, V, "hyperbolic sine")                                                       \
    X(COSH, "cosh", 1, V, "hyperbolic cosine")                                                     \
    X(ASINH, "asinh", 1, V, "inverse hyperbolic sine")                                             \
    X(ACOSH, "acosh", 1, V, "inverse hyperbolic cosine")                                           \
    X(ATANH, "atanh", 1, V, "inverse hyperbolic tangent")                                          \
    X(NOT, "not", 1, V, "all bits inverted; bool: the other value")                                \
    X(IS_NAN, "is_nan", 1, B, "x is not a number")                                                 \
    X(IS_INF, "is_inf", 1, B, "x is +inf or -inf")                                                 \
    X(ADD, "add", 2, V, "a + b")                                                                   \
    X(SUB, "sub", 2, V, "a - b")                                                                   \
    X(MUL, "mul", 2, V, "a * b")                                                                   \
    X(DIV, "div", 2, V, "a / b")                                                                   \
    X(MOD, "mod", 2, V, "remainder with the sign of b")                                            \
    X(REM, "rem", 2, V, "remainder with the sign of a: C's fmod")                                  \
    X(POW, "pow", 2, V, "a^b; negative powers of integers round towards 0")                        \
    X(MIN, "min", 2, V, "IEEE 754-2019 minimum")                                                   \
    X(MAX, "max", 2, V, "IEEE 754-2019 maximum")                                                   \
    X(AND, "and", 2, V, "bits in both")                                                            \
    X(OR, "or", 2, V, "bits in either")                                                            \
    X(XOR, "xor", 2, V, "bits in one")                                                             \
    X(SHL, "shl", 2, V, "a shifted left by b")                                                     \
    X(SHR, "shr", 2, V, "a shifted right by b")                                                    \
    X(SHR8, "shr8", 2, V, "shr of 8-bit integers widened: 0 from 8 on")                            \
    X(SHR16, "shr16", 2, V, "shr of 16-bit integers widened: 0 from 16 on")                        \
    X(EQ, "eq", 2, B, "a = b")                                                                     \
    X(NE, "ne", 2, B, "a != b")                                                                    \
    X(LT, "lt", 2, B, "a < b")                                                                     \
    X(LE, "le", 2, B, "a <= b")                                                                    \
    X(GT, "gt", 2, B, "a > b")                                                                     \
    X(GE, "ge", 2, B, "a >= b")                                                                    \
    X(SELECT, "select", 3, V, "mask ? a : b; the mask is u8")

typedef enum takt_map_op {
#define X(NAME, name, operands, result, what) TAKT_MAP_##NAME,
    TAKT_MAP_OPS(X)
#undef X
        TAKT_MAP_OP_COUNT
} takt_map_op;

typedef void takt_map_fn(void *dst, const void *const *src, const unsigned char *is_scalar,
                         size_t n, takt_fault *fault);

/* takt_kernel.info of these families: NULL where the type has no such operation. */
typedef struct takt_map_table {
    takt_map_fn *op[TAKT_MAP_OP_COUNT];
} takt_map_table;

static inline takt_map_fn *takt_map_find(const takt_kernel *kernel, takt_map_op op)
{
    return ((const takt_map_table *)kernel->info)->op[op];
}

/* "add"; NULL beyond the list. */
const char *takt_map_name(takt_map_op op);
/* TAKT_MAP_OP_COUNT if there is no such operation. */
takt_map_op takt_map_op_of(const char *name);
int takt_map_operands(takt_map_op op);
/* The result is u8, not the family's type. */
bool takt_map_is_predicate(takt_map_op op);

TAKT_KERNEL_FAMILY(map_f32, takt_map_fn)
TAKT_KERNEL_FAMILY(map_f64, takt_map_fn)
TAKT_KERNEL_FAMILY(map_i32, takt_map_fn)
TAKT_KERNEL_FAMILY(map_i64, takt_map_fn)
TAKT_KERNEL_FAMILY(map_u32, takt_map_fn)
TAKT_KERNEL_FAMILY(map_u64, takt_map_fn)
TAKT_KERNEL_FAMILY(map_bool, takt_map_fn)

#endif
