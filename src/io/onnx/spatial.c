/* spatial.c - reads the geometry of windows, and unfolds windows. */
#include "io/onnx/spatial.h"

#include <string.h>

#include "base/size.h"

static bool fill(takt_call *c, const char *name, size_t count, int64_t fallback, int64_t *to)
{
    const takt_ints list = takt_onnx_ints(c, name);
    for (size_t i = 0; i < count; i++)
        to[i] = list.is_set && i < list.count ? list.at[i] : fallback;
    return !list.is_set || list.count == count;
}

/* SAME: the output is ceil(in / stride); the odd element goes after (UPPER) or before. */
static takt_status same(takt_call *c, const takt_type *x, bool upper, takt_spatial *s)
{
    for (size_t i = 0; i < s->count; i++) {
        takt_dim in;
        TAKT_TRY(takt_dim_resolve(c->g->dims, x->dim[i + 2], &in));
        if (!takt_dim_is_number(in) && s->stride[i] != 1)
            return takt_onnx_refuse(c, "auto_pad on a dimension without a number");
        if (!takt_dim_is_number(in))
            in = 1 << 20; /* any value will do: with stride 1 the padding does not depend on it */
        const int64_t out = (in + s->stride[i] - 1) / s->stride[i];
        const int64_t reach = (s->kernel[i] - 1) * s->dilation[i] + 1;
        int64_t total = (out - 1) * s->stride[i] + reach - in;
        total = total < 0 ? 0 : total;
        s->pad[i] = upper ? total / 2 : total - total / 2;
        s->pad[s->count + i] = total - s->pad[i];
    }
    return TAKT_OK;
}

static bool is_small(int64_t v, int64_t least)
{
    return v >= least && v <= INT32_MAX;
}

/* Everything is below 2^31, so that sums of products of two cannot wrap. */
static takt_status bounded(takt_call *c, const takt_type *x, const takt_spatial *s)
{
    for (size_t i = 0; i < s->count; i++) {
        takt_dim in;
        TAKT_TRY(takt_dim_resolve(c->g->dims, x->dim[i + 2], &in));
        if (takt_dim_is_number(in) && !is_small(in, 0))
            return takt_onnx_refuse(c, "a spatial dimension is out of range");
        if (!is_small(s->kernel[i], 1) || !is_small(s->stride[i], 1) ||
            !is_small(s->dilation[i], 1) || !is_small(s->pad[i], -INT32_MAX) ||
            !is_small(s->pad[s->count + i], -INT32_MAX) ||
            !is_small((s->kernel[i] - 1) * s->dilation[i] + 1, 1))
            return takt_onnx_refuse(c, "a kernel, stride, dilation or pad is out of range");
    }
    return TAKT_OK;
}

takt_status takt_spatial_read(takt_call *c, const takt_type *x, const int64_t *kernel, size_t count,
                              takt_spatial *s)
{
    *s = (takt_spatial){.count = count};
    if (count < 1 || count > TAKT_ONNX_SPATIAL || x->rank != (int)count + 2)
        return takt_onnx_refuse(c, "the input has rank %d, the kernel %zu", x->rank, count);
    memcpy(s->kernel, kernel, count * sizeof *kernel);
    if (!fill(c, "strides", count, 1, s->stride) || !fill(c, "dilations", count, 1, s->dilation) ||
        !fill(c, "pads", 2 * count, 0, s->pad))
        return takt_onnx_refuse(c, "strides, dilations or pads do not fit the rank");
    TAKT_TRY(bounded(c, x, s));
    static const char *const ways[] = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID", NULL};
    const int way = takt_onnx_choice(c, "auto_pad", "NOTSET", ways);
    const takt_spatial given = *s;
    if (way != 0)
        memset(s->pad, 0, sizeof s->pad);
    if (way == 1 || way == 2)
        TAKT_TRY(same(c, x, way == 1, s));
    /* ONNX allows one or the other; exporters leave zeros next to auto_pad. */
    for (size_t i = 0; i < 2 * count; i++)
        if (way != 0 && given.pad[i] != 0 && given.pad[i] != s->pad[i])
            return takt_onnx_refuse(c, "auto_pad %s contradicts pads of %lld", ways[way],
                                    (long long)given.pad[i]);
    return c->status;
}

int64_t takt_spatial_out(const takt_spatial *s, size_t i, int64_t in)
{
    const int64_t reach = (s->kernel[i] - 1) * s->dilation[i] + 1;
    const int64_t room = in + s->pad[i] + s->pad[s->count + i] - reach;
    if (room < 0)
        return 0;
    int64_t out = (room + (s->ceil ? s->stride[i] - 1 : 0)) / s->stride[i] + 1;
    if (s->ceil && (out - 1) * s->stride[i] >= in + s->pad[i])
        out--; /* a window must begin inside */
    return out;
}

/* Flat spatial index of element `e` of the window at `p`; -1 in the padding. */
static int64_t place(const takt_spatial *s, const int64_t *in, const int64_t *out, int64_t p,
                     int64_t e)
{
    int64_t flat = 0, factor = 1;
    bool inside = true;
    for (size_t k = s->count; k-- > 0;) {
        const int64_t at =
            p % out[k] * s->stride[k] + e % s->kernel[k] * s->dilation[k] - s->pad[k];
        p /= out[k];
        e /= s->kernel[k];
        inside = inside && at >= 0 && at < in[k];
        flat += at * factor;
        factor *= in[k];
    }
    return inside ? flat : -1;
}

takt_id takt_spatial_unfold(takt_call *c, takt_id x, const takt_spatial *s, double fill_,
                            int64_t *out, takt_id *flat)
{
    const takt_type t = *takt_type_of(c->g, x);
    int64_t in[TAKT_ONNX_SPATIAL], size = 1, positions = 1, elements = 1, all = 0;
    bool fits = true;
    for (size_t i = 0; i < s->count; i++) {
        if (takt_dim_resolve(c->g->dims, t.dim[i + 2], &in[i]) != TAKT_OK ||
            !takt_dim_is_number(in[i])) {
            (void)takt_onnx_refuse(c, "a spatial dimension without a number");
            return TAKT_NONE;
        }
        out[i] = takt_spatial_out(s, i, in[i]);
        fits = fits && takt_i64_mul(size, in[i], &size) &&
               takt_i64_mul(positions, out[i], &positions) &&
               takt_i64_mul(elements, s->kernel[i], &elements);
    }
    /* Checked before they are computed: small models can request many. */
    if (!fits || !takt_i64_mul(positions, elements, &all) ||
        (uint64_t)all > c->g->ctx->limits.tensor_bytes / sizeof(int64_t)) {
        (void)takt_onnx_refuse(c, "windows of %lld elements at %lld places are too many",
                               (long long)elements, (long long)positions);
        return TAKT_NONE;
    }
    int64_t *index = takt_onnx_get(c, (size_t)all, sizeof *index);
    if (index == NULL)
        return TAKT_NONE;
    for (int64_t p = 0; p < positions; p++)
        for (int64_t e = 0; e < elements; e++)
            index[p * elements + e] = place(s, in, out, p, e);
    const int64_t grid[2] = {positions, elements};
    const takt_id list = takt_onnx_i64s(c, index, (size_t)all);
    *flat = takt_onnx_shape(c, list, grid, 2);
    takt_dim rows;
    if (takt_dim_make(c->g->dims, TAKT_DIM_MUL, t.dim[0], t.dim[1], &rows) != TAKT_OK)
        return takt_graph_fail(c->g, TAKT_ERR_SHAPE);
    const takt_id plain = takt_reshape(c->g, x, (takt_dim[]){rows, size}, 2);
    /* One more column, the last, which index -1 reads. */
    const takt_named_attr attrs[] = {{"before", takt_attr_i64s((int64_t[]){0, 0}, 2)},
                                     {"after", takt_attr_shape((takt_dim[]){0, 1}, 2)},
                                     {"value", takt_attr_f64(fill_)}};
    const takt_id wide = takt_onnx_op1(c, &takt_op_pad, plain, 3, attrs);
    return takt_onnx_gather(c, wide, *flat, 1);
}

static takt_id with_bias(takt_call *c, takt_id y)
{
    if (!takt_onnx_has(c, 2) || y == TAKT_NONE)
        return y;
    const int rank = takt_type_of(c->g, y)->rank;
    return takt_add(c->g, y, takt_onnx_channel(c, takt_onnx_in(c, 2), rank));
}

/* conv needs kernels of 1 to 3 axes of known size. */
takt_id takt_spatial_conv(takt_call *c)
{
    const takt_type *x = takt_onnx_type(c, 0), *w = takt_onnx_type(c, 1);
    takt_spatial s;
    int64_t kernel[TAKT_MAX_RANK];
    if (c->status != TAKT_OK)
        return TAKT_NONE;
    for (int i = 2; i < w->rank; i++)
        kernel[i - 2] = w->dim[i];
    const takt_ints stated = takt_onnx_ints(c, "kernel_shape");
    for (size_t i = 0; i < stated.count; i++) {
        if (w->rank >= 2 && stated.count == (size_t)w->rank - 2 && stated.at[i] == kernel[i])
            continue;
        (void)takt_onnx_refuse(c, "kernel_shape is not that of the weights");
        return TAKT_NONE;
    }
    if (takt_spatial_read(c, x, kernel, w->rank < 2 ? 0 : (size_t)w->rank - 2, &s) != TAKT_OK)
        return TAKT_NONE;
    const takt_named_attr attrs[] = {{"stride", takt_attr_i64s(s.stride, s.count)},
                                     {"dilation", takt_attr_i64s(s.dilation, s.count)},
                                     {"pad", takt_attr_i64s(s.pad, 2 * s.count)},
                                     {"groups", takt_attr_i64(takt_onnx_i(c, "group", 1))}};
    return with_bias(
        c, takt_onnx_op2(c, &takt_op_conv, takt_onnx_in(c, 0), takt_onnx_in(c, 1), 4, attrs));
}

/* Axis `from` moved to `to`; the others keep their order. */
static takt_id moved(takt_call *c, takt_id x, int from, int to)
{
    if (x == TAKT_NONE)
        return x;
    const int rank = takt_type_of(c->g, x)->rank;
    int64_t order[TAKT_MAX_RANK];
    from = from < 0 ? rank + from : from;
    to = to < 0 ? rank + to : to;
    for (int i = 0, next = 0; i < rank; i++) {
        next += next == from;
        order[i] = i == to ? from : next++;
    }
    return takt_transpose(c->g, x, order, (size_t)rank);
}

takt_status takt_spatial_either(takt_call *c, takt_status (*adapt)(takt_call *c))
{
    const takt_type *x = takt_onnx_type(c, 0);
    if (takt_onnx_i(c, "channels_last", 0) == 0)
        return adapt(c);
    if (x->rank < 2)
        return takt_onnx_refuse(c, "channels_last of rank %d", x->rank);
    takt_onnx_value *kept = c->in[0], first = *kept;
    first.id = moved(c, kept->id, -1, 1);
    c->in[0] = &first;
    const takt_status status = adapt(c);
    c->in[0] = kept;
    if (status == TAKT_OK)
        takt_onnx_set(c, 0, moved(c, c->out[0].id, 1, -1));
    return status == TAKT_OK ? c->status : status;
}
