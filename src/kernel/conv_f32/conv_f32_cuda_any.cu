/* conv_f32_cuda_any.cu - convolutions of any type and layout, over up to three axes, on a device:
 * one element per thread.
 *
 * f32 has the order of gemm_f32.h over taps, then channels: chunks of 256 by fma, added in order.
 * 16-bit floats are summed this way in f32 and rounded once, f64 in its own type; integers wrap.
 * Padding is multiplied as zero.
 */
#include "kernel/cuda/args.h"
#include "kernel/cuda/lang.h"
#include "kernel/cuda/math.inc"

#include "kernel/cuda/element.inc"

enum { CHUNK = TAKT_CUDA_GEMM_CHUNK };

/* The position of an element's window. */
typedef struct window {
    int64_t corner[3]; /* in x, before it if negative */
    int64_t x, w;      /* first elements: of the sample and group, of the output channel */
} window;

/* The place of tap `t` in x; -1: padding. */
DEVICE int64_t tap_at(const takt_cuda_conv_any_args *c, const window *from, uint32_t t)
{
    int64_t at = from->x;
    for (int d = 2; d >= 0; d--) {
        const int64_t place = from->corner[d] + (int64_t)(t % c->kernel[d] * c->dilation[d]);
        if (place < 0 || place >= (int64_t)c->in[d])
            return -1;
        at += place * c->x_at[d];
        t /= c->kernel[d];
    }
    return at;
}

/* All products in order: `take` has x and w, as words. */
#define EVERY(take)                                                                                \
    for (uint32_t t = 0; t < c->taps; t++) {                                                       \
        const int64_t place = tap_at(c, from, t);                                                  \
        for (uint32_t i = 0; i < c->cin; i++) {                                                    \
            const word x = place >= 0 ? loaded(dtype, c->x, place + i * c->x_channel) : 0;         \
            const word w = loaded(dtype, c->w, from->w + t * c->w_tap + i * c->w_in);              \
            take;                                                                                  \
        }                                                                                          \
    }

DEVICE word sum_f32(const takt_cuda_conv_any_args *c, const window *from)
{
    const uint8_t dtype = (uint8_t)c->dtype;
    float total = 0.0f, acc = 0.0f;
    uint32_t k = 0;
    EVERY(acc = fmaf(f32_of(x), f32_of(w), acc); k++; if (k % CHUNK == 0) {
        total = k == CHUNK ? acc : total + acc;
        acc = 0.0f;
    })
    if (c->adds_zero)
        acc = acc + 0.0f;
    if (k % CHUNK != 0)
        total = k < CHUNK ? acc : total + acc;
    return narrowed(dtype, TAKT_F32, false, word_of_f32(total));
}

DEVICE word sum_f64(const takt_cuda_conv_any_args *c, const window *from)
{
    const uint8_t dtype = (uint8_t)c->dtype;
    double total = 0, acc = 0;
    uint32_t k = 0;
    EVERY(acc = fma(f64_of(x), f64_of(w), acc); k++; if (k % CHUNK == 0) {
        total = k == CHUNK ? acc : total + acc;
        acc = 0;
    })
    if (k % CHUNK != 0)
        total = k < CHUNK ? acc : total + acc;
    return word_of_f64(total);
}

DEVICE word sum_int(const takt_cuda_conv_any_args *c, const window *from)
{
    const uint8_t dtype = (uint8_t)c->dtype;
    word sum = 0;
    EVERY(sum += x * w)
    return sum;
}

KERNEL(takt_cuda_any_conv, takt_cuda_conv_any_args, TAKT_CUDA_MOVE_THREADS)
{
    const uint64_t i = INDEX;
    if (i >= ARG.count)
        return;
    const uint32_t outputs = ARG.groups * ARG.cout, output = (uint32_t)(i % outputs);
    const uint64_t position = i / outputs % ARG.positions, sample = i / outputs / ARG.positions;
    window from;
    uint64_t rest = position;
    for (int d = 2; d >= 0; d--) {
        from.corner[d] = (int64_t)(rest % ARG.out[d] * ARG.stride[d]) - (int64_t)ARG.before[d];
        rest /= ARG.out[d];
    }
    from.x =
        (int64_t)sample * ARG.x_sample + (int64_t)(output / ARG.cout * ARG.cin) * ARG.x_channel;
    from.w = (int64_t)output * ARG.w_out;
    const uint8_t as = compute_of((uint8_t)ARG.dtype);
    stored((uint8_t)ARG.dtype, ARG.y,
           (int64_t)sample * ARG.y_sample + (int64_t)position * ARG.y_position +
               (int64_t)output * ARG.y_channel,
           as == TAKT_F64   ? sum_f64(&ARG, &from)
           : as == TAKT_F32 ? sum_f32(&ARG, &from)
                            : sum_int(&ARG, &from));
}
