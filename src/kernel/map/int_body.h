/* int_body.h - the table of element-wise operations on integers.
 *
 * Included after T (the type), U (its unsigned form), BITS and IS_SIGNED. The loops are plain C:
 * integers have one meaning everywhere, so the compiler may vectorise them for the unit's ISA
 * without a bit changing.
 */
#ifndef TAKT_KERNEL_MAP_INT_BODY_H
#define TAKT_KERNEL_MAP_INT_BODY_H

#include <string.h>

#include "kernel/map/map.h"

#define INLINE static inline __attribute__((always_inline))

/* dst may be an operand itself, never shifted against it, so no iteration depends on another. */
#ifdef __clang__
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif

INLINE void unary(T *d, const T *x, bool one, size_t n, T (*op)(T))
{
    if (one) {
        const T y = op(*x);
        INDEPENDENT
        for (size_t i = 0; i < n; i++)
            d[i] = y;
        return;
    }
    INDEPENDENT
    for (size_t i = 0; i < n; i++)
        d[i] = op(x[i]);
}

/* `D` is T, or uint8_t for predicates. */
#define DRIVE_BINARY(name, D)                                                                      \
    INLINE void name(D *d, const void *const *src, const unsigned char *is_scalar, size_t n,       \
                     D (*op)(T, T))                                                                \
    {                                                                                              \
        const T *x = src[0], *y = src[1];                                                          \
        if (is_scalar[0]) {                                                                        \
            const T one = *x, other = is_scalar[1] ? *y : 0;                                       \
            INDEPENDENT                                                                            \
            for (size_t i = 0; i < n; i++)                                                         \
                d[i] = op(one, is_scalar[1] ? other : y[i]);                                       \
        } else if (is_scalar[1]) {                                                                 \
            const T one = *y;                                                                      \
            INDEPENDENT                                                                            \
            for (size_t i = 0; i < n; i++)                                                         \
                d[i] = op(x[i], one);                                                              \
        } else {                                                                                   \
            INDEPENDENT                                                                            \
            for (size_t i = 0; i < n; i++)                                                         \
                d[i] = op(x[i], y[i]);                                                             \
        }                                                                                          \
    }
DRIVE_BINARY(binary, T)
DRIVE_BINARY(predicate, uint8_t)

/* Operations that can fault report it in *bad. */
INLINE void faulting(T *d, const void *const *src, const unsigned char *is_scalar, size_t n,
                     takt_fault *fault, T (*op)(T, T, bool *))
{
    const T *x = src[0], *y = src[1];
    const size_t step_x = !is_scalar[0], step_y = !is_scalar[1];
    for (size_t i = 0; i < n; i++) {
        bool bad = false;
        const T b = y[i * step_y];
        d[i] = op(x[i * step_x], b, &bad);
        if (bad)
            takt_fault_note(fault, i, (int64_t)b);
    }
}

static inline T copy_of(T x)
{
    return x;
}
static inline T neg_of(T x)
{
    return (T)((U)0 - (U)x);
}
static inline T square_of(T x)
{
    return (T)((U)x * (U)x);
}
static inline T not_of(T x)
{
    return (T) ~(U)x;
}
static inline T add_of(T a, T b)
{
    return (T)((U)a + (U)b);
}
static inline T sub_of(T a, T b)
{
    return (T)((U)a - (U)b);
}
static inline T mul_of(T a, T b)
{
    return (T)((U)a * (U)b);
}
static inline T min_of(T a, T b)
{
    return a < b ? a : b;
}
static inline T max_of(T a, T b)
{
    return a > b ? a : b;
}
static inline T and_of(T a, T b)
{
    return a & b;
}
static inline T or_of(T a, T b)
{
    return a | b;
}
static inline T xor_of(T a, T b)
{
    return a ^ b;
}
static inline uint8_t eq_of(T a, T b)
{
    return a == b;
}
static inline uint8_t ne_of(T a, T b)
{
    return a != b;
}
static inline uint8_t lt_of(T a, T b)
{
    return a < b;
}
static inline uint8_t le_of(T a, T b)
{
    return a <= b;
}
static inline uint8_t gt_of(T a, T b)
{
    return a > b;
}
static inline uint8_t ge_of(T a, T b)
{
    return a >= b;
}
static inline T shl_of(T a, T b)
{
    return (U)b < BITS ? (T)((U)a << (U)b) : (T)0;
}
static inline T shr_of(T a, T b)
{
    return (U)b < BITS ? (T)(a >> b) : (T)0;
}
static inline T shr8_of(T a, T b)
{
    return (U)b < 8 ? (T)(a >> b) : (T)0;
}
static inline T shr16_of(T a, T b)
{
    return (U)b < 16 ? (T)(a >> b) : (T)0;
}

#if IS_SIGNED
static inline T abs_of(T x)
{
    return x < 0 ? neg_of(x) : x;
}
static inline T sign_of(T x)
{
    return (T)((x > 0) - (x < 0));
}
static inline T relu_of(T x)
{
    return x < 0 ? 0 : x;
}
static inline bool is_minus_one(T x)
{
    return x == -1;
}
static inline bool opposite(T a, T b)
{
    return (a < 0) != (b < 0);
}
#else
static inline T abs_of(T x)
{
    return x;
}
static inline T sign_of(T x)
{
    return x != 0;
}
static inline T relu_of(T x)
{
    return x;
}
#endif

/* Dividing the least integer by -1 would trap on some processors: it wraps. */
static inline T div_of(T a, T b, bool *bad)
{
    if ((*bad = b == 0))
        return 0;
#if IS_SIGNED
    if (is_minus_one(b))
        return neg_of(a);
#endif
    return (T)(a / b);
}

static inline T rem_of(T a, T b, bool *bad)
{
    if ((*bad = b == 0))
        return 0;
#if IS_SIGNED
    if (is_minus_one(b))
        return 0;
#endif
    return (T)(a % b);
}

static inline T mod_of(T a, T b, bool *bad)
{
    const T r = rem_of(a, b, bad);
#if IS_SIGNED
    return r != 0 && opposite(r, b) ? (T)(r + b) : r;
#else
    return r;
#endif
}

/* By squaring, modulo 2^BITS. */
static inline T pow_of(T a, T b, bool *bad)
{
#if IS_SIGNED
    if (b < 0) {
        *bad = a == 0;
        return a == 1 ? 1 : is_minus_one(a) ? ((b & 1) ? -1 : 1) : 0;
    }
#endif
    (void)bad;
    U base = (U)a, result = 1;
    for (U e = (U)b; e != 0; e >>= 1, base *= base)
        result *= (e & 1) ? base : 1;
    return (T)result;
}

#include "kernel/map/int_table.h"

#endif
