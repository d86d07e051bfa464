/* pool_f32_cuda.cu - pools and depthwise convolutions on a device: a thread computes an element.
 *
 * Neighbouring threads have neighbouring channels, so that x, w and y are read and written in
 * lines. Orders are those of pool_f32.h and depthwise_f32.h.
 */
#include "kernel/cuda/args.h"
#include "kernel/cuda/lang.h"
#include "kernel/cuda/math.inc"

#include "kernel/cuda/epilogue.inc"

enum { CHUNK = 256 };

/* Where a thread is. */
typedef struct spot {
    const float *image;
    uint32_t channel, h, w; /* h, w: of the window's corner in x with its padding */
} spot;

/* The element of x at tap (i, j); NULL: it is padding. */
DEVICE const float *tap_at(const takt_cuda_window *a, const spot *s, uint32_t i, uint32_t j)
{
    const uint32_t h = s->h + i * a->dilation_h, w = s->w + j * a->dilation_w;
    if (h < a->before_h || w < a->before_w || h - a->before_h >= a->height ||
        w - a->before_w >= a->width)
        return NULL;
    return s->image + ((uint64_t)(h - a->before_h) * a->width + (w - a->before_w)) * a->channels +
           s->channel;
}

DEVICE float depthwise(const takt_cuda_window *a, const spot *s)
{
    const uint32_t taps = a->kernel_h * a->kernel_w;
    const float *w = a->w + (uint64_t)s->channel * taps;
    float total = 0.0f, acc = 0.0f;
    for (uint32_t t = 0; t < taps; t++) {
        const float *x = tap_at(a, s, t / a->kernel_w, t % a->kernel_w);
        acc = fmaf(x != NULL ? *x : 0.0f, w[t], acc);
        if (t + 1 == taps || (t + 1) % CHUNK == 0) {
            total = t < CHUNK ? acc : total + acc;
            acc = 0.0f;
        }
    }
    return total;
}

DEVICE float largest(const takt_cuda_window *a, const spot *s)
{
    float most = -INFINITY;
    for (uint32_t i = 0; i < a->kernel_h; i++)
        for (uint32_t j = 0; j < a->kernel_w; j++) {
            const float *x = tap_at(a, s, i, j);
            most = x != NULL ? vf_max(most, *x) : most;
        }
    return most;
}

/* Taps along one axis that an average counts. */
DEVICE uint32_t counted(uint32_t corner, uint32_t kernel, uint32_t dilation, uint32_t before,
                        uint32_t size, uint32_t end)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < kernel; i++) {
        const uint32_t at = corner + i * dilation;
        count += (at >= before && at - before < size) || at < end;
    }
    return count;
}

DEVICE float average(const takt_cuda_window *a, const spot *s)
{
    float sum = 0.0f;
    for (uint32_t i = 0; i < a->kernel_h; i++)
        for (uint32_t j = 0; j < a->kernel_w; j++) {
            const float *x = tap_at(a, s, i, j);
            sum = x != NULL ? sum + *x : sum;
        }
    const uint32_t end_h = a->count_pad ? a->before_h + a->height + a->after_h : 0;
    const uint32_t end_w = a->count_pad ? a->before_w + a->width + a->after_w : 0;
    const uint32_t count =
        counted(s->h, a->kernel_h, a->dilation_h, a->before_h, a->height, end_h) *
        counted(s->w, a->kernel_w, a->dilation_w, a->before_w, a->width, end_w);
    return count > 0 ? sum / (float)count : 0.0f;
}

/* ---- depthwise, four channels a thread; w is [taps][channels], of one chunk ---- */

DEVICE void load_four(const float *p, float *to)
{
    if (((uintptr_t)p & 15) == 0)
        spread(to, *(const quad *)p);
    else
        for (uint32_t j = 0; j < 4; j++)
            to[j] = p[j];
}

KERNEL(takt_cuda_depthwise_f32, takt_cuda_window, TAKT_CUDA_WINDOW_THREADS)
{
    const uint32_t i = (uint32_t)INDEX, quads = ARG.channels / 4;
    if (i >= (uint32_t)(ARG.count / 4))
        return;
    const uint32_t channel = i % quads * 4, position = i / quads, line = position / ARG.out_width;
    const uint32_t w0 = position % ARG.out_width * ARG.stride_w - ARG.before_w;
    const uint32_t h0 = line % ARG.out_height * ARG.stride_h - ARG.before_h;
    const float *image = ARG.x + (uint64_t)(line / ARG.out_height) * ARG.height * ARG.width *
                                     ARG.channels + channel;
    const float *w = ARG.w + channel;
    float acc[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    for (uint32_t r = 0; r < ARG.kernel_h; r++)
        for (uint32_t c = 0; c < ARG.kernel_w; c++, w += ARG.channels) {
            const uint32_t h = h0 + r * ARG.dilation_h, col = w0 + c * ARG.dilation_w;
            float x[4] = {0.0f, 0.0f, 0.0f, 0.0f}, y[4];
            if (h < ARG.height && col < ARG.width)
                load_four(image + (uint64_t)(h * ARG.width + col) * ARG.channels, x);
            load_four(w, y);
            UNROLL
            for (uint32_t j = 0; j < 4; j++)
                acc[j] = fmaf(x[j], y[j], acc[j]);
        }
    float *to = ARG.y + (uint64_t)position * ARG.channels + channel;
    UNROLL
    for (uint32_t j = 0; j < 4; j++)
        acc[j] = finished(&ARG.end, acc[j], 0, position, channel + j);
    if (((uintptr_t)to & 15) == 0)
        *(quad *)to = quad_of(acc);
    else
        for (uint32_t j = 0; j < 4; j++)
            to[j] = acc[j];
}

KERNEL(takt_cuda_window_f32, takt_cuda_window, TAKT_CUDA_WINDOW_THREADS)
{
    const uint64_t i = INDEX;
    if (i >= ARG.count)
        return;
    spot s;
    s.channel = (uint32_t)(i % ARG.channels);
    const uint64_t position = i / ARG.channels;
    s.w = (uint32_t)(position % ARG.out_width) * ARG.stride_w;
    s.h = (uint32_t)(position / ARG.out_width % ARG.out_height) * ARG.stride_h;
    s.image =
        ARG.x + position / ARG.out_width / ARG.out_height * ARG.height * ARG.width * ARG.channels;
    const float y = ARG.op == TAKT_CUDA_DEPTHWISE ? depthwise(&ARG, &s)
                    : ARG.op == TAKT_CUDA_LARGEST ? largest(&ARG, &s)
                                                  : average(&ARG, &s);
    ARG.y[i] = finished(&ARG.end, y, 0, position, s.channel);
}
