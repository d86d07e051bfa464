/* conv_f32_cuda_grad.cu - gradients of convolutions of any type and layout, over up to three axes, on
 * a device: one element per thread.
 *
 * dx is a sum over the taps that reach a position, then output channels; dw over positions, with
 * new chunks in every sample. Chunks of 256 by fma are added in order. 16-bit floats are
 * summed in f32 and rounded once; integers wrap. Beyond the border zeros are multiplied.
 */
#include "kernel/cuda/args.h"
#include "kernel/cuda/lang.h"
#include "kernel/cuda/math.inc"

#include "kernel/cuda/element.inc"

enum { CHUNK = TAKT_CUDA_GEMM_CHUNK };

/* A sum in progress. */
typedef struct sum {
    double acc, total; /* of f64 */
    float narrow, narrow_total;
    word whole;
    uint32_t in_chunk;
    bool has_total;
} sum;

DEVICE sum sum_of_nothing(void)
{
    sum s;
    s.acc = s.total = 0;
    s.narrow = s.narrow_total = 0.0f;
    s.whole = 0;
    s.in_chunk = 0;
    s.has_total = false;
    return s;
}

DEVICE void end_chunk(sum *s)
{
    if (s->in_chunk == 0)
        return;
    s->total = s->has_total ? s->total + s->acc : s->acc;
    s->narrow_total = s->has_total ? s->narrow_total + s->narrow : s->narrow;
    s->has_total = true;
    s->acc = 0;
    s->narrow = 0.0f;
    s->in_chunk = 0;
}

/* The first factor at `i`, or zero if that is negative, times the second at `j`. */
DEVICE void add(const takt_cuda_conv_any_args *c, sum *s, int64_t i, int64_t j)
{
    const uint8_t dtype = (uint8_t)c->dtype, as = compute_of(dtype);
    const word a = i >= 0 ? loaded(dtype, c->x, i) : 0, b = loaded(dtype, c->w, j);
    if (as == TAKT_F32)
        s->narrow = fmaf(f32_of(a), f32_of(b), s->narrow);
    else if (as == TAKT_F64)
        s->acc = fma(f64_of(a), f64_of(b), s->acc);
    else
        s->whole += a * b;
    if (++s->in_chunk == CHUNK)
        end_chunk(s);
}

DEVICE void put_sum(const takt_cuda_conv_any_args *c, sum *s, int64_t at)
{
    const uint8_t dtype = (uint8_t)c->dtype, as = compute_of(dtype);
    end_chunk(s);
    stored(dtype, c->y, at,
           as == TAKT_F32   ? narrowed(dtype, TAKT_F32, false, word_of_f32(s->narrow_total))
           : as == TAKT_F64 ? word_of_f64(s->total)
                            : s->whole);
}

/* Counts are below 2^31, and 32-bit division is faster. */
DEVICE void split(const uint32_t *size, uint32_t flat, int64_t *at)
{
    for (int d = 2; d >= 0; d--) {
        at[d] = (int64_t)(flat % size[d]);
        flat /= size[d];
    }
}

/* ---- by x ---- */

/* The place in dy whose tap reads position `at` of x; -1: beyond the border, -2: there is none. */
DEVICE int64_t y_of(const takt_cuda_conv_any_args *c, const int64_t *at, const int64_t *tap)
{
    int64_t position = 0;
    bool is_inside = true;
    for (int d = 0; d < 3; d++) {
        const int64_t from = at[d] + c->before[d] - tap[d] * c->dilation[d];
        if (from % (int64_t)c->stride[d] != 0)
            return -2;
        const int64_t to = from / (int64_t)c->stride[d];
        is_inside = is_inside && to >= 0 && to < (int64_t)c->out[d];
        position = position * c->out[d] + to;
    }
    return is_inside ? position * c->y_position : -1;
}

KERNEL(takt_cuda_any_conv_dx, takt_cuda_conv_any_args, TAKT_CUDA_MOVE_THREADS)
{
    const uint32_t i = (uint32_t)INDEX;
    if (i >= ARG.count)
        return;
    const uint32_t channels = ARG.groups * ARG.cin, channel = i % channels;
    const uint32_t area = ARG.in[0] * ARG.in[1] * ARG.in[2];
    const int64_t sample = i / channels / area;
    const uint32_t first = channel / ARG.cin * ARG.cout;
    int64_t at[3], tap[3];
    sum s = sum_of_nothing();
    split(ARG.in, i / channels % area, at);
    for (uint32_t t = 0; t < ARG.taps; t++) {
        split(ARG.kernel, t, tap);
        const int64_t place = y_of(&ARG, at, tap);
        ROLL
        for (uint32_t o = first; place > -2 && o < first + ARG.cout; o++)
            add(&ARG, &s, place < 0 ? -1 : sample * ARG.y_sample + place + o * ARG.y_channel,
                o * ARG.w_out + t * ARG.w_tap + channel % ARG.cin * ARG.w_in);
    }
    put_sum(&ARG, &s,
            sample * ARG.x_sample + at[0] * ARG.x_at[0] + at[1] * ARG.x_at[1] +
                at[2] * ARG.x_at[2] + channel * ARG.x_channel);
}

/* ---- by the weights ---- */

/* The place in x that a tap of position `at` of y reads; -1: padding. */
DEVICE int64_t x_of(const takt_cuda_conv_any_args *c, const int64_t *at, const int64_t *tap)
{
    int64_t place = 0;
    for (int d = 0; d < 3; d++) {
        const int64_t x = at[d] * c->stride[d] + tap[d] * c->dilation[d] - (int64_t)c->before[d];
        if (x < 0 || x >= (int64_t)c->in[d])
            return -1;
        place += x * c->x_at[d];
    }
    return place;
}

KERNEL(takt_cuda_any_conv_dw, takt_cuda_conv_any_args, TAKT_CUDA_MOVE_THREADS)
{
    const uint32_t i = (uint32_t)INDEX;
    if (i >= ARG.count)
        return;
    const uint32_t in = i % ARG.cin, t = i / ARG.cin % ARG.taps, o = i / ARG.cin / ARG.taps;
    const int64_t channel = (int64_t)(o / ARG.cout) * ARG.cin + in;
    int64_t at[3], tap[3];
    sum s = sum_of_nothing();
    split(ARG.kernel, t, tap);
    for (uint32_t n = 0; n < ARG.batch; n++) {
        ROLL
        for (uint32_t p = 0; p < (uint32_t)ARG.positions; p++) {
            split(ARG.out, p, at);
            const int64_t place = x_of(&ARG, at, tap);
            add(&ARG, &s,
                place < 0 ? -1 : n * ARG.x_sample + place + channel * ARG.x_channel,
                n * ARG.y_sample + p * ARG.y_position + o * ARG.y_channel);
        }
        end_chunk(&s);
    }
    put_sum(&ARG, &s, o * ARG.w_out + t * ARG.w_tap + in * ARG.w_in);
}
