/* winograd_f32_cuda.cu - the transforms of Winograd's convolution on a device.
 *
 * A thread has a channel of a tile; neighbouring threads have neighbouring channels, which come
 * last. Between the two transforms are 36 products, one per point. The order is that of
 * winograd_f32.h.
 */
#include "kernel/cuda/args.h"
#include "kernel/cuda/lang.h"
#include "kernel/cuda/math.inc"

#include "kernel/cuda/epilogue.inc"

enum { IN = 6, OUT = 4 };

/* Bt of six values that lie `step` apart, in place. */
DEVICE void into(float *x, const int step)
{
    const float x0 = x[0], x1 = x[step], x2 = x[2 * step], x3 = x[3 * step], x4 = x[4 * step];
    const float x5 = x[5 * step];
    const float a = fmaf(-4.0f, x2, x4), b = fmaf(-4.0f, x1, x3), c = x4 - x2, d = x3 - x1;
    x[0] = fmaf(4.0f, x0, fmaf(-5.0f, x2, x4));
    x[step] = a + b;
    x[2 * step] = a - b;
    x[3 * step] = fmaf(2.0f, d, c);
    x[4 * step] = fmaf(-2.0f, d, c);
    x[5 * step] = fmaf(4.0f, x1, fmaf(-5.0f, x3, x5));
}

/* At of six values that lie `step` apart, to the first four of them. */
DEVICE void back(float *m, const int step)
{
    const float m0 = m[0], m5 = m[5 * step];
    const float s = m[step] + m[2 * step], d = m[step] - m[2 * step];
    const float t = m[3 * step] + m[4 * step], e = m[3 * step] - m[4 * step];
    m[0] = (m0 + s) + t;
    m[step] = fmaf(2.0f, e, d);
    m[2 * step] = fmaf(4.0f, t, s);
    m[3 * step] = fmaf(8.0f, e, d) + m5;
}

/* A thread's position. */
typedef struct spot {
    uint32_t channel, image, row, col; /* row, col: of the tile's first output */
} spot;

DEVICE spot spot_of(const takt_cuda_winograd *w, uint32_t i, uint32_t channels)
{
    const uint32_t tile = i / channels, line = tile / w->across;
    spot s;
    s.channel = i % channels;
    s.col = tile % w->across * OUT;
    s.row = line % w->down * OUT;
    s.image = line / w->down;
    return s;
}

KERNEL(takt_cuda_winograd_in_f32, takt_cuda_winograd, TAKT_CUDA_WINOGRAD_THREADS)
{
    const uint32_t i = (uint32_t)INDEX, count = ARG.tiles * ARG.channels;
    if (i >= count)
        return;
    const spot s = spot_of(&ARG, i, ARG.channels);
    const float *x =
        ARG.x + (uint64_t)s.image * ARG.height * ARG.width * ARG.channels + s.channel;
    float t[IN * IN];
    UNROLL
    for (uint32_t r = 0; r < IN; r++)
        UNROLL
    for (uint32_t c = 0; c < IN; c++) {
        const uint32_t h = s.row + r - ARG.before_h, w = s.col + c - ARG.before_w;
        t[IN * r + c] =
            h < ARG.height && w < ARG.width ? x[(h * ARG.width + w) * ARG.channels] : 0.0f;
    }
    UNROLL
    for (int c = 0; c < IN; c++)
        into(t + c, IN);
    UNROLL
    for (int r = 0; r < IN; r++)
        into(t + IN * r, 1);
    UNROLL
    for (uint32_t p = 0; p < IN * IN; p++)
        ARG.points[(uint64_t)p * count + i] = t[p];
}

KERNEL(takt_cuda_winograd_out_f32, takt_cuda_winograd, TAKT_CUDA_WINOGRAD_THREADS)
{
    const uint32_t i = (uint32_t)INDEX, count = ARG.tiles * ARG.outputs;
    if (i >= count)
        return;
    const spot s = spot_of(&ARG, i, ARG.outputs);
    const channel_end end = channel_end_of(&ARG.end, s.channel);
    float m[IN * IN];
    UNROLL
    for (uint32_t p = 0; p < IN * IN; p++)
        m[p] = ARG.points[(uint64_t)p * count + i];
    const uint64_t first =
        ((uint64_t)s.image * ARG.out_height + s.row) * ARG.out_width + s.col;
    const uint32_t rows = ARG.out_height - s.row, cols = ARG.out_width - s.col;
    float y[OUT * OUT], added[OUT * OUT]; /* added: the residual */
    UNROLL
    for (uint32_t p = 0; p < OUT * OUT; p++)
        added[p] = 0.0f;
    if (ARG.end.residual != NULL) {
        const int64_t across = ARG.end.residual_row, down = across * ARG.out_width;
        const float *from = ARG.end.residual + (int64_t)first * across + s.channel;
        UNROLL
        for (uint32_t p = 0; p < OUT * OUT; p++)
            if (p / OUT < rows && p % OUT < cols)
                added[p] = from[p / OUT * down + p % OUT * across];
    }
    UNROLL
    for (int c = 0; c < IN; c++)
        back(m + c, IN);
    UNROLL
    for (int r = 0; r < OUT; r++)
        back(m + IN * r, 1);
    UNROLL
    for (uint32_t p = 0; p < OUT * OUT; p++)
        y[p] = m[IN * (p / OUT) + p % OUT];
    finish_channel(&ARG.end, &end, y, added, OUT * OUT);
    float *to = ARG.y + first * ARG.outputs + s.channel;
    const uint64_t down = (uint64_t)ARG.out_width * ARG.outputs;
    UNROLL
    for (uint32_t p = 0; p < OUT * OUT; p++)
        if (p / OUT < rows && p % OUT < cols)
            to[p / OUT * down + p % OUT * ARG.outputs] = y[p];
}
