/* pool_f32_cuda.cu - pools and depthwise convolutions on a device: a thread computes an element.
 *
 * Neighbouring threads have neighbouring channels, four each where channels come in fours, so that
 * x, w and y are read and written in lines. Orders are those of pool_f32.h and depthwise_f32.h.
 */
#include "kernel/cuda/args.h"
#include "kernel/cuda/fours.h"
#include "kernel/cuda/lang.h"
#include "kernel/cuda/math.inc"

#include "kernel/cuda/epilogue.inc"

enum { CHUNK = 256 };

/* A thread's position. */
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

/* Taps of a window whose corner is at (h, w) of the padded x. */
DEVICE uint32_t taps_of(const takt_cuda_window *a, uint32_t h, uint32_t w)
{
    const uint32_t end_h = a->count_pad ? a->before_h + a->height + a->after_h : 0;
    const uint32_t end_w = a->count_pad ? a->before_w + a->width + a->after_w : 0;
    return counted(h, a->kernel_h, a->dilation_h, a->before_h, a->height, end_h) *
           counted(w, a->kernel_w, a->dilation_w, a->before_w, a->width, end_w);
}

DEVICE float average(const takt_cuda_window *a, const spot *s)
{
    float sum = 0.0f;
    for (uint32_t i = 0; i < a->kernel_h; i++)
        for (uint32_t j = 0; j < a->kernel_w; j++) {
            const float *x = tap_at(a, s, i, j);
            sum = x != NULL ? sum + *x : sum;
        }
    const uint32_t count = taps_of(a, s->h, s->w);
    return count > 0 ? sum / (float)count : 0.0f;
}

/* ---- depthwise, four channels a thread; w is [taps][channels], of one chunk ---- */

/* A thread's first tap of x: four channels, at (h, w) before padding is taken away. */
typedef struct corner {
    const float *image;
    uint32_t h, w;
} corner;

/* Windows of 3 x 3: all elements are loaded before they are used. w is already in registers. */
DEVICE void nine(const takt_cuda_window *a, const corner *at, const quad *w, float *acc)
{
    quad x[9];
    UNROLL
    for (uint32_t t = 0; t < 9; t++) {
        const quad zero = {0.0f, 0.0f, 0.0f, 0.0f};
        const uint32_t h = at->h + t / 3 * a->dilation_h, c = at->w + t % 3 * a->dilation_w;
        const float *from = at->image + (uint64_t)(h * a->width + c) * a->channels;
        x[t] = h < a->height && c < a->width ? *(const quad *)from : zero;
    }
    UNROLL
    for (uint32_t t = 0; t < 9; t++) {
        acc[0] = fmaf(x[t].x, w[t].x, acc[0]);
        acc[1] = fmaf(x[t].y, w[t].y, acc[1]);
        acc[2] = fmaf(x[t].z, w[t].z, acc[2]);
        acc[3] = fmaf(x[t].w, w[t].w, acc[3]);
    }
}

DEVICE void any_taps(const takt_cuda_window *a, const corner *at, const float *w, float *acc)
{
    for (uint32_t r = 0; r < a->kernel_h; r++)
        for (uint32_t c = 0; c < a->kernel_w; c++, w += a->channels) {
            const uint32_t h = at->h + r * a->dilation_h, col = at->w + c * a->dilation_w;
            float x[4] = {0.0f, 0.0f, 0.0f, 0.0f}, y[4];
            if (h < a->height && col < a->width)
                load_four(x, at->image + (uint64_t)(h * a->width + col) * a->channels);
            load_four(y, w);
            UNROLL
            for (uint32_t j = 0; j < 4; j++)
                acc[j] = fmaf(x[j], y[j], acc[j]);
        }
}

LATE_KERNEL(takt_cuda_depthwise_f32, takt_cuda_window, TAKT_CUDA_DEPTHWISE_THREADS)
{
    const uint32_t i = (uint32_t)INDEX, quads = ARG.channels / 4;
    const uint32_t channel = i % quads * 4, position = i / quads, line = position / ARG.out_width;
    const bool is_nine =
        ARG.kernel_h == 3 && ARG.kernel_w == 3 && (((uintptr_t)ARG.x | (uintptr_t)ARG.w) & 15) == 0;
    corner at;
    at.w = position % ARG.out_width * ARG.stride_w - ARG.before_w;
    at.h = line % ARG.out_height * ARG.stride_h - ARG.before_h;
    at.image =
        ARG.x + (uint64_t)(line / ARG.out_height) * ARG.height * ARG.width * ARG.channels + channel;
    quad w[9];
    if (is_nine) { /* weights are constant */
        UNROLL
        for (uint32_t t = 0; t < 9; t++)
            w[t] = *(const quad *)(ARG.w + t * ARG.channels + channel);
    }
    BEGIN();
    if (i >= (uint32_t)(ARG.count / 4))
        return;
    channel_end end[4];
    float acc[4] = {0.0f, 0.0f, 0.0f, 0.0f}, added[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    UNROLL
    for (uint32_t j = 0; j < 4; j++)
        end[j] = channel_end_of(&ARG.end, channel + j);
    if (ARG.end.residual != NULL)
        load_four(added, ARG.end.residual + (int64_t)position * ARG.end.residual_row + channel);
    if (is_nine)
        nine(&ARG, &at, w, acc);
    else
        any_taps(&ARG, &at, ARG.w + channel, acc);
    float *to = ARG.y + (uint64_t)position * ARG.channels + channel;
    UNROLL
    for (uint32_t j = 0; j < 4; j++)
        acc[j] = finished_with(&ARG.end, &end[j], acc[j], added[j]);
    store_four(to, acc);
}

/* ---- pools, four channels a thread ---- */

/* The largest of 3 x 3, all loaded before they are used; padding is smaller than anything. */
DEVICE void largest_nine(const takt_cuda_window *a, const corner *at, float *y)
{
    quad x[9];
    UNROLL
    for (uint32_t t = 0; t < 9; t++) {
        const quad none = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
        const uint32_t h = at->h + t / 3 * a->dilation_h, c = at->w + t % 3 * a->dilation_w;
        const float *from = at->image + (uint64_t)(h * a->width + c) * a->channels;
        x[t] = h < a->height && c < a->width ? *(const quad *)from : none;
    }
    UNROLL
    for (uint32_t t = 0; t < 9; t++) {
        float one[4];
        spread(one, x[t]);
        UNROLL
        for (uint32_t j = 0; j < 4; j++)
            y[j] = vf_max(y[j], one[j]);
    }
}

DEVICE void pool_taps(const takt_cuda_window *a, const corner *at, float *y)
{
    const bool is_largest = a->op == TAKT_CUDA_LARGEST;
    for (uint32_t r = 0; r < a->kernel_h; r++)
        for (uint32_t c = 0; c < a->kernel_w; c++) {
            const uint32_t h = at->h + r * a->dilation_h, col = at->w + c * a->dilation_w;
            float x[4];
            if (h >= a->height || col >= a->width)
                continue;
            load_four(x, at->image + (uint64_t)(h * a->width + col) * a->channels);
            UNROLL
            for (uint32_t j = 0; j < 4; j++)
                y[j] = is_largest ? vf_max(y[j], x[j]) : y[j] + x[j];
        }
    if (is_largest)
        return;
    const uint32_t count = taps_of(a, at->h + a->before_h, at->w + a->before_w);
    UNROLL
    for (uint32_t j = 0; j < 4; j++)
        y[j] = count > 0 ? y[j] / (float)count : 0.0f;
}

KERNEL(takt_cuda_window_f32_quads, takt_cuda_window, TAKT_CUDA_DEPTHWISE_THREADS)
{
    const uint32_t i = (uint32_t)INDEX, quads = ARG.channels / 4;
    const uint32_t channel = i % quads * 4, position = i / quads, line = position / ARG.out_width;
    if (i >= (uint32_t)(ARG.count / 4))
        return;
    corner at;
    at.w = position % ARG.out_width * ARG.stride_w - ARG.before_w;
    at.h = line % ARG.out_height * ARG.stride_h - ARG.before_h;
    at.image =
        ARG.x + (uint64_t)(line / ARG.out_height) * ARG.height * ARG.width * ARG.channels + channel;
    const float first = ARG.op == TAKT_CUDA_LARGEST ? -INFINITY : 0.0f;
    float y[4] = {first, first, first, first};
    if (ARG.op == TAKT_CUDA_LARGEST && ARG.kernel_h == 3 && ARG.kernel_w == 3 &&
        ((uintptr_t)ARG.x & 15) == 0)
        largest_nine(&ARG, &at, y);
    else
        pool_taps(&ARG, &at, y);
    float *to = ARG.y + (uint64_t)position * ARG.channels + channel;
    UNROLL
    for (uint32_t j = 0; j < 4; j++)
        y[j] = finished(&ARG.end, y[j], 0, position, channel + j);
    store_four(to, y);
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
