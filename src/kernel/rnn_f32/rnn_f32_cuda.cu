/* rnn_f32_cuda.cu - recurrent layers of f32, f16 and bf16 on a device. */
#include "kernel/cuda/args.h"
#include "kernel/cuda/lang.h"
#include "kernel/cuda/math.inc"

#include "kernel/cuda/element.inc"

#define T float
#define VEC(name) vf_##name
#define MATH(name) name##_f32
#define FUSED fmaf

/* `loaded` and `narrowed` know twenty types: a copy at each place here is 80 s of nvcc. */
DEVICE float widened_half(uint32_t dtype, uint16_t bits)
{
    return dtype == TAKT_BF16 ? half_from_bf16(bits) : half_from_f16(bits);
}

/* Used at many places, but seldom. */
#ifdef __CUDACC__
#define APART static __device__ __noinline__
#else
#define APART static
#endif

APART uint16_t half_of(uint32_t dtype, float x)
{
    return dtype == TAKT_BF16 ? half_to_bf16(x) : half_to_f16(x);
}

APART float rounded_half(uint32_t dtype, float x)
{
    return widened_half(dtype, half_of(dtype, x));
}

DEVICE float get(uint32_t dtype, const void *data, uint64_t at)
{
    return dtype == TAKT_F32 ? ((const float *)data)[at]
                             : widened_half(dtype, ((const uint16_t *)data)[at]);
}

DEVICE void put(uint32_t dtype, void *data, uint64_t at, float x)
{
    if (dtype == TAKT_F32)
        ((float *)data)[at] = x;
    else
        ((uint16_t *)data)[at] = half_of(dtype, x);
}

/* As if it had been stored in the layer's own type. */
DEVICE float rounded(const takt_cuda_rnn *a, float x)
{
    return a->rounds && a->dtype != TAKT_F32 ? rounded_half(a->dtype, x) : x;
}

DEVICE float fresh_of(const float *from)
{
    return fresh_one(from);
}

DEVICE void load4(float *to, const float *from)
{
    spread(to, *(const quad *)from);
}

#include "kernel/rnn/cuda_body.inc"

KERNEL(takt_cuda_rnn_f32, takt_cuda_rnn, TAKT_CUDA_RNN_THREADS)
{
    run_layer(&ARG SELF);
}
