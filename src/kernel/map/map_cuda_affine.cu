/* map_cuda_affine.cu - quantize, dequantize and requantize: scale and zero point for all, or along
 * an axis.
 *
 * The quotient is rounded to the type of the float; NaN becomes the zero point. Between f32 and
 * integers of at most 16 bits it is computed in f32, which is exact except for that rounding.
 */
#include "kernel/cuda/args.h"
#include "kernel/cuda/lang.h"

#include "kernel/cuda/element.inc"

DEVICE double f64_at(uint32_t dtype, const void *data, uint64_t at)
{
    const word w = loaded((uint8_t)dtype, data, (int64_t)at);
    switch (compute_of((uint8_t)dtype)) {
    case TAKT_F64: return f64_of(w);
    case TAKT_F32: return (double)f32_of(w);
    case TAKT_I64: return (double)(int64_t)w;
    case TAKT_I32: return (double)(int32_t)(uint32_t)w;
    default: return (double)w;
    }
}

/* The float of type `dtype` nearest to x, as f64. */
DEVICE double rounded(uint32_t dtype, double x)
{
    if (dtype == TAKT_F64)
        return x;
    if (dtype == TAKT_F32)
        return (double)(float)x;
    return decoded((uint8_t)dtype, encoded((uint8_t)dtype, x, false));
}

DEVICE bool is_small(uint32_t dtype)
{
    return dtype == TAKT_I8 || dtype == TAKT_U8 || dtype == TAKT_I16 || dtype == TAKT_U16;
}

DEVICE void put_level(uint32_t dtype, void *dst, uint64_t i, int64_t level)
{
    stored((uint8_t)dtype, dst, (int64_t)i, (uint64_t)level);
}

/* In f32: the type has at most 16 bits. */
DEVICE int64_t level_of(const takt_cuda_affine_args *a, float x, float scale, float zero)
{
    const float q = x / scale;
    const float low = (float)a->low - zero, high = (float)a->high - zero;
    const float known = q == q ? q : 0.0f;
    const float kept = known < low ? low : known > high ? high : known;
    return (int64_t)(rintf(kept) + zero);
}

DEVICE void requantize(const takt_cuda_affine_args *a, uint64_t i, double zero)
{
    const float x = (float)(f64_at(a->narrow, a->src, i) - zero) * *(const float *)a->scale;
    put_level(a->to_narrow, a->dst, i,
              level_of(a, x, *a->to_scale, (float)f64_at(a->to_narrow, a->to_zero, 0)));
}

DEVICE void quantize(const takt_cuda_affine_args *a, uint64_t i, uint64_t which, double zero)
{
    if (a->wide == TAKT_F32 && is_small(a->narrow)) {
        put_level(
            a->narrow, a->dst, i,
            level_of(a, ((const float *)a->src)[i], ((const float *)a->scale)[which], (float)zero));
        return;
    }
    const double scale = f64_at(a->scale_dtype, a->scale, which);
    const double q = rounded(a->wide, f64_at(a->wide, a->src, i) / scale);
    const double low = a->low - zero, high = a->high - zero, known = q == q ? q : 0.0;
    const double kept = known < low ? low : known > high ? high : known;
    put_level(a->narrow, a->dst, i, (int64_t)(rint(kept) + zero));
}

DEVICE void dequantize(const takt_cuda_affine_args *a, uint64_t i, uint64_t which, double zero)
{
    const double level = f64_at(a->narrow, a->src, i);
    if (a->wide == TAKT_F32 && a->scale_dtype == TAKT_F32 && is_small(a->narrow)) {
        ((float *)a->dst)[i] = (float)(level - zero) * ((const float *)a->scale)[which];
        return;
    }
    const double x = (level - zero) * f64_at(a->scale_dtype, a->scale, which);
    stored((uint8_t)a->wide, a->dst, (int64_t)i, bits_of_float((uint8_t)a->wide, x, false));
}

KERNEL(takt_cuda_affine, takt_cuda_affine_args, TAKT_CUDA_MOVE_THREADS)
{
    const uint64_t i = INDEX;
    if (i >= ARG.count)
        return;
    const uint64_t which = ARG.size > 1 ? i / ARG.inner % ARG.size : 0;
    const double zero = ARG.zero != NULL ? f64_at(ARG.narrow, ARG.zero, which) : 0.0;
    if (ARG.to_scale != NULL)
        requantize(&ARG, i, zero);
    else if (ARG.is_down)
        quantize(&ARG, i, which, zero);
    else
        dequantize(&ARG, i, which, zero);
}
