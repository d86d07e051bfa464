/* deform_conv.c - convolution with an offset for every tap, as ONNX DeformConv.
 *
 * `offset` shifts every tap of every output position down and to the right, `mask` multiplies it;
 * positions between elements of x are interpolated, those outside are 0. The channels of x are
 * split into as many groups as offset has sets of taps.
 */
#include <math.h>

#include "op/util/deform.h"
#include "op/util/stops.h"

/* One element of x, 0 outside. */
static double element(const takt_array *x, size_t plane, int64_t row, int64_t column)
{
    if (row < 0 || row >= x->dim[2] || column < 0 || column >= x->dim[3])
        return 0;
    return x->f[plane + (size_t)(row * x->dim[3] + column)];
}

static double between(const takt_array *x, size_t plane, double y, double at)
{
    if (!(y > -1 && y < (double)x->dim[2] && at > -1 && at < (double)x->dim[3]))
        return 0;
    const int64_t row = (int64_t)floor(y), column = (int64_t)floor(at);
    const double down = y - floor(y), right = at - floor(at);
    return (1 - down) * ((1 - right) * element(x, plane, row, column) +
                         right * element(x, plane, row, column + 1)) +
           down * ((1 - right) * element(x, plane, row + 1, column) +
                   right * element(x, plane, row + 1, column + 1));
}

/* One tap of one channel at position `at` of the result's plane, weighted by the mask. */
static double tap(const takt_eval *e, const takt_deform *d, int64_t image, int64_t channel,
                  int64_t k, int64_t at)
{
    const takt_array *x = &e->in[0], *offset = &e->in[2];
    const int64_t set = channel / (d->channels / d->offset_groups);
    const int64_t first = (image * d->offset_groups + set) * d->taps + k;
    const int64_t places = d->out[0] * d->out[1];
    const double y =
        (double)(at / d->out[1] * d->stride[0] - d->pad[0] + k / d->kernel[1] * d->dilation[0]) +
        offset->f[2 * first * places + at];
    const double column =
        (double)(at % d->out[1] * d->stride[1] - d->pad[1] + k % d->kernel[1] * d->dilation[1]) +
        offset->f[(2 * first + 1) * places + at];
    const size_t plane = (size_t)((image * d->channels + channel) * x->dim[2] * x->dim[3]);
    const double scale = e->in_count > 3 ? e->in[3].f[first * places + at] : 1;
    return scale * between(x, plane, y, column);
}

static takt_status eval(takt_eval *e)
{
    const takt_deform d = takt_deform_of(e->attr, e->in[0].dim, e->in[1].dim, e->out[0].dim);
    const takt_array *w = &e->in[1];
    const int64_t inner = d.channels / d.groups, places = d.out[0] * d.out[1];
    for (size_t i = 0; i < e->out[0].count && !takt_eval_stops(e, (size_t)(inner * d.taps)); i++) {
        const int64_t at = (int64_t)i % places, o = (int64_t)i / places % w->dim[0];
        const int64_t image = (int64_t)i / places / w->dim[0];
        const int64_t first = o / (w->dim[0] / d.groups) * inner;
        double sum = 0;
        for (int64_t c = 0; c < inner; c++)
            for (int64_t k = 0; k < d.taps; k++)
                sum += w->f[(o * inner + c) * d.taps + k] * tap(e, &d, image, first + c, k, at);
        e->out[0].f[i] = sum;
    }
    return TAKT_OK;
}

const takt_op takt_op_deform_conv = {
    .name = "deform_conv",
    .summary = "convolution whose taps are moved by offsets and weighted by a mask",
    .in_min = 3,
    .in_max = 4,
    .in_names = {"x", "w", "offset", "mask"},
    .attrs = {TAKT_DEFORM_ATTRS},
    .dtypes = TAKT_FLOATS,
    .infer = takt_deform_infer,
    .eval = eval,
    .lower = takt_deform_lower,
    .samples = {"deform_conv(f32[1, 2, 5, 5], f32[3, 2, 2, 2], f32[1, 8, 4, 4] in (-1, 1))",
                "deform_conv(f64[2, 2, 4, 5], f64[2, 1, 3, 3], f64[2, 18, 2, 3], f64[2, 9, 2, 3], "
                "stride=[2, 2], pad=[1, 1, 1, 1], groups=2)",
                "deform_conv(f32[1, 4, 5, 5], f32[2, 4, 2, 2], f32[1, 16, 3, 3] in (-2, 2), "
                "f32[1, 8, 3, 3], dilation=[2, 2], offset_groups=2)"},
};
