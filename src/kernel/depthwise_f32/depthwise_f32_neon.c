/* depthwise_f32_neon.c - depthwise convolution, four channels at a time. */
#define DEPTHWISE_RUN blocks_or_all
#define DEPTHWISE_LINES 2
#include "kernel/depthwise_f32/depthwise_f32_body.inc"

#include "kernel/depthwise_f32/neon_block.inc"
#include "kernel/simd/zeros.h"

/* Cases that the blocks cover: two lines that share rows, and at most one padded column on either
 * side. */
static bool is_for_blocks(const takt_depthwise_f32 *d)
{
    return d->rows == 3 && d->taps == 3 && d->dilation == 1 && d->stride <= 2 && d->before <= 1 &&
           d->lines >= 2 && d->x_step == d->stride && d->channels >= VF && d->columns >= ACROSS &&
           (d->columns - 1) * d->stride + 2 <= d->width + d->before;
}

/* Four outputs of two lines from column q on, of `vectors` of channels from c on. */
static void four_outputs(const takt_depthwise_f32 *d, size_t q, size_t c, size_t vectors,
                         size_t relu)
{
    static void (*const by_padding[2][4])(const block *) = {{inner_1, left_1, right_1, only_1},
                                                            {inner_2, left_2, right_2, only_2}};
    static const float nothing[VF] = {-0.0f, -0.0f, -0.0f, -0.0f};
    const bool left = q * d->stride < d->before;
    const bool right = (q + ACROSS - 1) * d->stride + 2 == d->width + d->before;
    const size_t first = (q * d->stride - d->before) * d->channels; /* one column less than 0 */
    const float *w = d->w + c;
    block k = {.w = {w, w + 3 * d->channels, w + 6 * d->channels},
               .bias = d->bias != NULL ? d->bias + c : nothing,
               .bias_step = d->bias != NULL ? VF * sizeof(float) : 0,
               .limit = d->limit,
               .lo = d->clips ? d->lo : 0,
               .column = d->channels * sizeof(float),
               .vectors = vectors,
               .relu = relu};
    for (size_t r = 0; r < 3 + d->stride; r++) {
        const float *row = d->x[r];
        k.x[r] = row != NULL ? (const float *)((uintptr_t)row + (first + c) * sizeof(float))
                             : d->zeros + c;
    }
    k.y[0] = d->y + q * d->channels + c;
    k.y[1] = k.y[0] + d->columns * d->channels;
    by_padding[d->stride - 1][2 * right + left](&k);
}

/* The last four outputs, and the last vector of channels, overlap the previous ones. */
static void two_lines(const takt_depthwise_f32 *d, size_t relu)
{
    for (size_t q = 0; q < d->columns; q += ACROSS) {
        const size_t at = q + ACROSS <= d->columns ? q : d->columns - ACROSS;
        four_outputs(d, at, 0, d->channels / VF, relu);
        if (d->channels % VF != 0)
            four_outputs(d, at, d->channels - VF, 1, relu);
    }
}

/* So do the last two lines. */
static void blocks_or_all(const takt_depthwise_f32 *given)
{
    if (!is_for_blocks(given)) {
        all_lines(given);
        return;
    }
    const bool max = given->bias != NULL && !takt_has_minus_zero(given->bias, given->channels);
    const size_t relu = given->clips || (given->relu && max) ? 2 : given->relu;
    for (size_t l = 0; l < given->lines; l += 2) {
        const size_t at = l + 2 <= given->lines ? l : given->lines - 2;
        takt_depthwise_f32 d = *given;
        d.x += at * d.x_step;
        d.y += at * d.columns * d.channels;
        two_lines(&d, relu);
    }
}
