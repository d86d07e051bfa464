/* ConvTranspose.c - ConvTranspose: the gradient of a convolution with respect to its input. */
#include "io/onnx/spatial.h"

/* Same for a named dimension: stride * in + rest. */
static takt_status named(takt_call *c, const takt_spatial *s, size_t i, takt_dim in, int64_t more,
                         takt_dim *out)
{
    const int64_t rest = more + (s->kernel[i] - 1) * s->dilation[i] + 1 - s->stride[i] - s->pad[i] -
                         s->pad[s->count + i];
    takt_dim scaled;
    TAKT_TRY(takt_dim_make(c->g->dims, TAKT_DIM_MUL, in, s->stride[i], &scaled));
    return rest < 0 ? takt_dim_make(c->g->dims, TAKT_DIM_SUB, scaled, -rest, out)
                    : takt_dim_make(c->g->dims, TAKT_DIM_ADD, scaled, rest, out);
}

/* Sizes of the result, and the padding that leads to them. */
static takt_status sizes(takt_call *c, const takt_type *x, takt_spatial *s, takt_dim *out)
{
    const takt_ints extra = takt_onnx_ints(c, "output_padding"),
                    shape = takt_onnx_ints(c, "output_shape");
    const bool upper = takt_onnx_is(c, "auto_pad", "NOTSET", "SAME_UPPER");
    const bool same = upper || takt_onnx_is(c, "auto_pad", "NOTSET", "SAME_LOWER");
    if (shape.is_set && shape.count != s->count && shape.count != s->count + 2)
        return takt_onnx_refuse(c, "output_shape has %zu numbers", shape.count);
    for (size_t i = 0; i < s->count; i++) {
        takt_dim in;
        TAKT_TRY(takt_dim_resolve(c->g->dims, x->dim[i + 2], &in));
        const int64_t more = i < extra.count ? extra.at[i] : 0;
        if (more < 0 || more > INT32_MAX)
            return takt_onnx_refuse(c, "output_padding is out of range");
        if (!takt_dim_is_number(in)) {
            if (same || shape.is_set)
                return takt_onnx_refuse(c, "a spatial dimension without a number");
            TAKT_TRY(named(c, s, i, in, more, &out[i]));
            continue;
        }
        const int64_t full =
            s->stride[i] * (in - 1) + more + (s->kernel[i] - 1) * s->dilation[i] + 1;
        if (same || shape.is_set) {
            const size_t skip = shape.count == s->count + 2 ? 2 : 0;
            const int64_t want = shape.is_set ? shape.at[i + skip] : in * s->stride[i];
            if (want < 0)
                return takt_onnx_refuse(c, "the result would have a negative size");
            const int64_t total = full > want ? full - want : 0;
            s->pad[i] = upper ? total / 2 : total - total / 2;
            s->pad[s->count + i] = total - s->pad[i];
            out[i] = want;
        } else {
            out[i] = full - s->pad[i] - s->pad[s->count + i];
        }
        if (out[i] < 0)
            return takt_onnx_refuse(c, "the result would have a negative size");
    }
    return TAKT_OK;
}

static takt_status adapt(takt_call *c)
{
    const takt_type *x = takt_onnx_type(c, 0), *w = takt_onnx_type(c, 1);
    const int64_t groups = takt_onnx_i(c, "group", 1);
    takt_spatial s;
    int64_t kernel[TAKT_MAX_RANK];
    takt_dim out[TAKT_MAX_RANK];
    if (c->status != TAKT_OK)
        return c->status;
    for (int i = 2; i < w->rank; i++)
        kernel[i - 2] = w->dim[i];
    TAKT_TRY(takt_spatial_read(c, x, kernel, w->rank < 2 ? 0 : (size_t)w->rank - 2, &s));
    out[0] = x->dim[0];
    TAKT_TRY(takt_dim_make(c->g->dims, TAKT_DIM_MUL, w->dim[1], groups < 1 ? 1 : groups, &out[1]));
    TAKT_TRY(sizes(c, x, &s, out + 2));
    const takt_named_attr attrs[] = {{"stride", takt_attr_i64s(s.stride, s.count)},
                                     {"dilation", takt_attr_i64s(s.dilation, s.count)},
                                     {"pad", takt_attr_i64s(s.pad, 2 * s.count)},
                                     {"groups", takt_attr_i64(groups)},
                                     {"shape", takt_attr_shape(out, s.count + 2)}};
    const int rank = x->rank;
    takt_id y =
        takt_onnx_op2(c, &takt_op_conv_dx, takt_onnx_in(c, 0), takt_onnx_in(c, 1), 5, attrs);
    if (takt_onnx_has(c, 2))
        y = takt_add(c->g, y, takt_onnx_channel(c, takt_onnx_in(c, 2), rank));
    return takt_onnx_done(c, y);
}

const takt_onnx_op takt_onnx_ConvTranspose = {.names = {"ConvTranspose"}, .adapt = adapt};
