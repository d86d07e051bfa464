/* semiring_f32_cuda.cu - products over semirings of f32, f64 and bits on a device, one element per
 * thread, in the order of semiring_f32.h.
 */
#include "kernel/cuda/lang.h"
#include "kernel/cuda/math.inc"

#include <takt/tensor.h>

#include "kernel/cuda/args_semiring.h"
#include "kernel/semiring_f32/semiring_f32.h"

enum { WORD = 64 };

/* Choices of the contract: with a NaN, and of two zeros, it is the second. */
#define LARGER(x, y) ((x) > (y) ? (x) : (y))
#define LESSER(x, y) ((x) < (y) ? (x) : (y))

#define PRODUCT(name, T, fused)                                                                    \
    DEVICE T name(const takt_cuda_semiring_args *s, const T *a, const T *b)                        \
    {                                                                                              \
        const T one = 1, none = 0;                                                                 \
        T sum = s->semiring == TAKT_MIN_ADD    ? (T)INFINITY                                       \
                : s->semiring == TAKT_NOISY_OR ? one                                               \
                                               : none;                                             \
        for (uint32_t k = 0; k < s->k; k++) {                                                      \
            const T x = a[k], y = b[(uint64_t)k * s->n];                                           \
            T t;                                                                                   \
            switch (s->semiring) {                                                                 \
            case TAKT_MAX_MIN:                                                                     \
                t = LESSER(x, y);                                                                  \
                sum = LARGER(sum, t);                                                              \
                break;                                                                             \
            case TAKT_MAX_MUL:                                                                     \
                t = x * y;                                                                         \
                sum = LARGER(sum, t);                                                              \
                break;                                                                             \
            case TAKT_MIN_ADD:                                                                     \
                t = x + y;                                                                         \
                sum = LESSER(sum, t);                                                              \
                break;                                                                             \
            case TAKT_NOISY_OR: sum = sum * fused(-x, y, one); break;                              \
            default:                                                                               \
                t = (x + y) - one;                                                                 \
                sum = sum + LARGER(t, none);                                                       \
                break;                                                                             \
            }                                                                                      \
        }                                                                                          \
        return s->semiring == TAKT_NOISY_OR      ? one - sum                                       \
               : s->semiring == TAKT_LUKASIEWICZ ? LESSER(sum, one)                                \
                                                 : sum;                                            \
    }
PRODUCT(product_f32, float, fmaf)
PRODUCT(product_f64, double, fma)

/* Words of b where the row of a has a bit. */
DEVICE uint64_t product_bits(const takt_cuda_semiring_args *s, const uint64_t *a, const uint64_t *b)
{
    uint64_t sum = 0;
    for (uint32_t k = 0; k < s->k; k++)
        if ((a[k / WORD] >> (k % WORD) & 1) != 0)
            sum |= b[(uint64_t)k * s->n];
    return sum;
}

KERNEL(takt_cuda_semiring, takt_cuda_semiring_args, TAKT_CUDA_SEMIRING_THREADS)
{
    const uint64_t i = INDEX;
    if (i >= ARG.count)
        return;
    const uint64_t row = i / ARG.n, right = row / ARG.m * ARG.k * ARG.n + i % ARG.n;
    const uint32_t words = (ARG.k + WORD - 1) / WORD;
    if (ARG.dtype == TAKT_F32)
        ((float *)ARG.c)[i] =
            product_f32(&ARG, (const float *)ARG.a + row * ARG.k, (const float *)ARG.b + right);
    else if (ARG.dtype == TAKT_F64)
        ((double *)ARG.c)[i] =
            product_f64(&ARG, (const double *)ARG.a + row * ARG.k, (const double *)ARG.b + right);
    else
        ((uint64_t *)ARG.c)[i] = product_bits(&ARG, (const uint64_t *)ARG.a + row * words,
                                              (const uint64_t *)ARG.b + right);
}
