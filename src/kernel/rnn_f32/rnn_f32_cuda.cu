/* rnn_f32_cuda.cu - recurrent layers of f32, f16 and bf16 on a device. */
#include "kernel/cuda/args.h"
#include "kernel/cuda/lang.h"
#include "kernel/cuda/math.inc"

#include "kernel/cuda/element.inc"

#define T float
#define VEC(name) vf_##name
#define MATH(name) name##_f32
#define FUSED fmaf

DEVICE float get(uint32_t dtype, const void *data, uint64_t at)
{
    return f32_of(loaded((uint8_t)dtype, data, (int64_t)at));
}

DEVICE void put(uint32_t dtype, void *data, uint64_t at, float x)
{
    stored((uint8_t)dtype, data, (int64_t)at,
           narrowed((uint8_t)dtype, TAKT_F32, false, word_of_f32(x)));
}

/* As if it had been stored in the layer's own type. */
DEVICE float rounded(const takt_cuda_rnn *a, float x)
{
    const uint8_t dtype = (uint8_t)a->dtype;
    if (!a->rounds)
        return x;
    return f32_of(widened(dtype, narrowed(dtype, TAKT_F32, false, word_of_f32(x))));
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
