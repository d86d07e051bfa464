/* gemm_f64_cuda.cu - products of f64, 16-bit floats and integers on a device, one element per
 * thread.
 *
 * Floats have the order of gemm_f64.h and gemm_f32.h: chunks of 256 by fma, added in order. 16-bit
 * floats are summed in f32 and rounded once; integers wrap.
 */
#include "kernel/cuda/args.h"
#include "kernel/cuda/lang.h"
#include "kernel/cuda/math.inc"

#include "kernel/cuda/element.inc"

enum { CHUNK = TAKT_CUDA_GEMM_CHUNK };

typedef struct factors {
    int64_t a, b; /* first elements of a row and a column */
} factors;

DEVICE word left_at(const takt_cuda_gemm_any_args *g, factors f, uint32_t k)
{
    return loaded((uint8_t)g->dtype, g->a, f.a + k * g->a_col);
}
DEVICE word right_at(const takt_cuda_gemm_any_args *g, factors f, uint32_t k)
{
    return loaded((uint8_t)g->dtype, g->b, f.b + k * g->b_row);
}

/* A sum over k: chunks in order. */
#define SUM(T, of, fused)                                                                          \
    T total = 0, acc = 0;                                                                          \
    for (uint32_t k = 0; k < g->k; k++) {                                                          \
        acc = fused(of(left_at(g, f, k)), of(right_at(g, f, k)), acc);                             \
        if (k + 1 == g->k || (k + 1) % CHUNK == 0) {                                               \
            total = k < CHUNK ? acc : total + acc;                                                 \
            acc = 0;                                                                               \
        }                                                                                          \
    }

DEVICE word product_f64(const takt_cuda_gemm_any_args *g, factors f)
{
    SUM(double, f64_of, fma)
    return word_of_f64(total);
}
DEVICE word product_f32(const takt_cuda_gemm_any_args *g, factors f)
{
    SUM(float, f32_of, fmaf)
    return narrowed((uint8_t)g->dtype, TAKT_F32, false, word_of_f32(total));
}
/* The low bits of a sum do not depend on the high ones. */
DEVICE word product_int(const takt_cuda_gemm_any_args *g, factors f)
{
    word total = 0;
    for (uint32_t k = 0; k < g->k; k++)
        total += left_at(g, f, k) * right_at(g, f, k);
    return total;
}

KERNEL(takt_cuda_any_gemm, takt_cuda_gemm_any_args, TAKT_CUDA_MOVE_THREADS)
{
    const uint64_t i = INDEX;
    if (i >= ARG.count)
        return;
    const uint32_t col = (uint32_t)(i % ARG.n), row = (uint32_t)(i / ARG.n % ARG.m);
    const uint32_t batch = (uint32_t)(i / ARG.n / ARG.m);
    const uint32_t outer = batch / ARG.inner, inner = batch % ARG.inner;
    const uint8_t as = compute_of((uint8_t)ARG.dtype);
    factors f;
    f.a = outer * ARG.a_outer + inner * ARG.a_inner + row * ARG.a_row;
    f.b = outer * ARG.b_outer + inner * ARG.b_inner + col * ARG.b_col;
    stored((uint8_t)ARG.dtype, ARG.c, (int64_t)i,
           as == TAKT_F64   ? product_f64(&ARG, f)
           : as == TAKT_F32 ? product_f32(&ARG, f)
                            : product_int(&ARG, f));
}
