/* pool_f32_cuda_any.cu - pools of any type and layout over up to three axes, and their gradients, on
 * a device: one element per thread.
 *
 * Averages add taps in row-major order, gradients the windows that have an element; in f32, or f64
 * for f64, and rounded once to narrower types.
 */
#include "kernel/cuda/lang.h"
#include "kernel/cuda/math.inc"

#include "kernel/cuda/args_pool.h"
#include "kernel/cuda/element.inc"

/* Where x and y of one sample and channel begin. */
typedef struct plane {
    int64_t x, y;
} plane;

DEVICE plane plane_of(const takt_cuda_pool_args *p, uint32_t number)
{
    const int64_t sample = number / p->channels, channel = number % p->channels;
    plane at;
    at.x = sample * p->x_sample + channel * p->x_channel;
    at.y = sample * p->y_sample + channel * p->y_channel;
    return at;
}

/* Counts are below 2^31, and 32-bit division is faster. */
DEVICE void split(const uint32_t *size, uint32_t flat, int64_t *at)
{
    for (int d = 2; d >= 0; d--) {
        at[d] = (int64_t)(flat % size[d]);
        flat /= size[d];
    }
}

/* The flat position in x of tap `t` of the window at `at`; -1: padding. */
DEVICE int64_t tap_of(const takt_cuda_pool_args *p, const int64_t *at, uint32_t t)
{
    int64_t tap[3], flat = 0;
    split(p->kernel, t, tap);
    for (int d = 0; d < 3; d++) {
        const int64_t place =
            at[d] * p->stride[d] + tap[d] * p->dilation[d] - (int64_t)p->before[d];
        if (place < 0 || place >= (int64_t)p->in[d])
            return -1;
        flat = flat * p->in[d] + place;
    }
    return flat;
}

DEVICE uint32_t taps_of(const takt_cuda_pool_args *p)
{
    return p->kernel[0] * p->kernel[1] * p->kernel[2];
}

DEVICE word x_at(const takt_cuda_pool_args *p, plane from, int64_t flat)
{
    return loaded((uint8_t)p->dtype, p->a, from.x + flat * p->x_position);
}

/* Whether a is larger than b; NaN is larger than any number. */
DEVICE bool is_larger(uint8_t as, word a, word b)
{
    switch (as) {
    case TAKT_F64: {
        const double x = f64_of(a), y = f64_of(b);
        return y == y && (x != x || x > y);
    }
    case TAKT_F32: {
        const float x = f32_of(a), y = f32_of(b);
        return y == y && (x != x || x > y);
    }
    case TAKT_I64: return (int64_t)a > (int64_t)b;
    case TAKT_I32: return (int32_t)(uint32_t)a > (int32_t)(uint32_t)b;
    default: return a > b;
    }
}

/* The position of the largest element of the window, the first of equals; -1: it has none. */
DEVICE int64_t largest(const takt_cuda_pool_args *p, plane from, const int64_t *at)
{
    const uint8_t as = compute_of((uint8_t)p->dtype);
    int64_t best = -1;
    word most = 0;
    for (uint32_t t = 0; t < taps_of(p); t++) {
        const int64_t flat = tap_of(p, at, t);
        if (flat < 0)
            continue;
        const word x = x_at(p, from, flat);
        if (best < 0 || is_larger(as, x, most)) {
            best = flat;
            most = x;
        }
    }
    return best;
}

/* A value below every element. */
DEVICE word least_word(uint8_t dtype)
{
    const uint8_t as = compute_of(dtype);
    if (as == TAKT_F64)
        return word_of_f64(-(double)INFINITY);
    if (as == TAKT_F32)
        return word_of_f32(-INFINITY);
    switch (dtype) {
    case TAKT_I64: return 1ULL << 63;
    case TAKT_I32: return 1U << 31;
    case TAKT_I16: return widened_signed(-32768);
    case TAKT_I8: return widened_signed(-128);
    default: return 0;
    }
}

/* The largest element; +0 if there are zeros of both signs. */
DEVICE word largest_word(const takt_cuda_pool_args *p, plane from, const int64_t *at)
{
    const uint8_t as = compute_of((uint8_t)p->dtype);
    const int64_t best = largest(p, from, at);
    if (best < 0)
        return least_word((uint8_t)p->dtype);
    word most = x_at(p, from, best);
    const bool is_zero = as == TAKT_F64 ? f64_of(most) == 0 : as == TAKT_F32 && f32_of(most) == 0;
    for (uint32_t t = 0; is_zero && most != 0 && t < taps_of(p); t++) {
        const int64_t flat = tap_of(p, at, t);
        if (flat >= 0 && x_at(p, from, flat) == 0)
            most = 0;
    }
    return most;
}

/* The number of taps by which an average of the window at `at` is divided. */
DEVICE uint32_t divisor_of(const takt_cuda_pool_args *p, const int64_t *at)
{
    uint32_t count = 1;
    for (int d = 0; d < 3; d++) {
        uint32_t along = 0;
        for (uint32_t k = 0; k < p->kernel[d]; k++) {
            const int64_t place = at[d] * p->stride[d] + (int64_t)k * p->dilation[d];
            const int64_t end = (int64_t)p->before[d] + p->in[d];
            along += (place >= (int64_t)p->before[d] && place < end) ||
                     (p->counts_pad && place < end + p->after[d]);
        }
        count *= along;
    }
    return count;
}

DEVICE word average(const takt_cuda_pool_args *p, plane from, const int64_t *at)
{
    const bool is_wide = p->dtype == TAKT_F64;
    const uint32_t divisor = divisor_of(p, at);
    float sum = 0.0f;
    double wide = 0;
    for (uint32_t t = 0; t < taps_of(p); t++) {
        const int64_t flat = tap_of(p, at, t);
        if (flat >= 0 && is_wide)
            wide = wide + f64_of(x_at(p, from, flat));
        else if (flat >= 0)
            sum = sum + f32_of(x_at(p, from, flat));
    }
    if (divisor == 0)
        return 0;
    return is_wide ? word_of_f64(wide / (double)divisor) : word_of_f32(sum / (float)divisor);
}

DEVICE void put(const takt_cuda_pool_args *p, int64_t at, word value)
{
    const uint8_t dtype = (uint8_t)p->dtype;
    stored(dtype, p->dst, at, narrowed(dtype, compute_of(dtype), false, value));
}

KERNEL(takt_cuda_pool_any, takt_cuda_pool_args, TAKT_CUDA_POOL_THREADS)
{
    const uint32_t i = (uint32_t)INDEX, positions = ARG.out[0] * ARG.out[1] * ARG.out[2];
    if (i >= ARG.count)
        return;
    const plane from = plane_of(&ARG, i / positions);
    int64_t at[3];
    split(ARG.out, i % positions, at);
    word value;
    if (ARG.op == TAKT_CUDA_POOL_MAX) {
        value = largest_word(&ARG, from, at);
    } else if (ARG.op == TAKT_CUDA_POOL_AVERAGE) {
        value = average(&ARG, from, at);
    } else {
        const int64_t best = largest(&ARG, from, at);
        value = best >= 0 ? loaded((uint8_t)ARG.dtype, ARG.b, from.x + best * ARG.x_position) : 0;
    }
    put(&ARG, from.y + (i % positions) * ARG.y_position, value);
}

/* ---- gradients ---- */

/* The first window along axis `d` that may contain position `at` of x, and one beyond the last. */
DEVICE void windows_of(const takt_cuda_pool_args *p, int d, int64_t at, int64_t *first, int64_t *end)
{
    const int64_t place = at + p->before[d], stride = p->stride[d];
    const int64_t reach = (int64_t)(p->kernel[d] - 1) * p->dilation[d];
    const int64_t last = place / stride + 1;
    *first = place > reach ? (place - reach + stride - 1) / stride : 0;
    *end = last < (int64_t)p->out[d] ? last : (int64_t)p->out[d];
}

/* Whether a tap of the window at `window` is position `at`. */
DEVICE bool has(const takt_cuda_pool_args *p, const int64_t *window, const int64_t *at)
{
    for (int d = 0; d < 3; d++) {
        const int64_t along = at[d] + p->before[d] - window[d] * p->stride[d];
        if (along < 0 || along % p->dilation[d] != 0 ||
            along / p->dilation[d] >= (int64_t)p->kernel[d])
            return false;
    }
    return true;
}

/* The contribution of the window at `w` to position `flat` of x, in the type of computation. */
DEVICE bool share_of(const takt_cuda_pool_args *p, plane from, const int64_t *w, int64_t flat,
                     word *share)
{
    const bool is_max = p->op == TAKT_CUDA_POOL_MAX_DX;
    const int64_t y = from.y + ((w[0] * p->out[1] + w[1]) * p->out[2] + w[2]) * p->y_position;
    const word dy = loaded((uint8_t)p->dtype, is_max ? p->b : p->a, y);
    if (is_max) {
        *share = dy;
        return largest(p, from, w) == flat;
    }
    const uint32_t divisor = divisor_of(p, w);
    *share = p->dtype == TAKT_F64 ? word_of_f64(f64_of(dy) / (double)divisor)
                                  : word_of_f32(f32_of(dy) / (float)divisor);
    return true;
}

KERNEL(takt_cuda_pool_any_dx, takt_cuda_pool_args, TAKT_CUDA_POOL_THREADS)
{
    const uint32_t i = (uint32_t)INDEX, area = ARG.in[0] * ARG.in[1] * ARG.in[2];
    if (i >= ARG.count)
        return;
    const plane from = plane_of(&ARG, i / area);
    int64_t at[3], first[3], end[3], w[3];
    word share;
    float sum = 0.0f;
    double wide = 0;
    split(ARG.in, i % area, at);
    for (int d = 0; d < 3; d++)
        windows_of(&ARG, d, at[d], &first[d], &end[d]);
    for (w[0] = first[0]; w[0] < end[0]; w[0]++)
        for (w[1] = first[1]; w[1] < end[1]; w[1]++)
            for (w[2] = first[2]; w[2] < end[2]; w[2]++) {
                if (!has(&ARG, w, at) || !share_of(&ARG, from, w, i % area, &share))
                    continue;
                if (ARG.dtype == TAKT_F64)
                    wide = wide + f64_of(share);
                else
                    sum = sum + f32_of(share);
            }
    put(&ARG, from.x + (i % area) * ARG.x_position,
        ARG.dtype == TAKT_F64 ? word_of_f64(wide) : word_of_f32(sum));
}
