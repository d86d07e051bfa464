/* rnn_f64_cuda.cu - recurrent layers of f64 on a device. */
#include "kernel/cuda/args.h"
#include "kernel/cuda/lang.h"
#include "kernel/cuda/math.inc"

#define T double
#define VEC(name) vd_##name
#define MATH(name) name##_f64
#define FUSED fma

DEVICE double get(uint32_t dtype, const void *data, uint64_t at)
{
    (void)dtype;
    return ((const double *)data)[at];
}

DEVICE void put(uint32_t dtype, void *data, uint64_t at, double x)
{
    (void)dtype;
    ((double *)data)[at] = x;
}

DEVICE double rounded(const takt_cuda_rnn *a, double x)
{
    (void)a;
    return x;
}

DEVICE double fresh_of(const double *from)
{
    return fresh_double(from);
}

DEVICE void load4(double *to, const double *from)
{
    for (int i = 0; i < 4; i++)
        to[i] = from[i];
}

#include "kernel/rnn/cuda_body.inc"

KERNEL(takt_cuda_rnn_f64, takt_cuda_rnn, TAKT_CUDA_RNN_THREADS)
{
    run_layer(&ARG SELF);
}
