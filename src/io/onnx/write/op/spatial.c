/* spatial.c - convolutions and pools; channels that come last are moved and moved back. */
#include "io/onnx/write/emit.h"
#include "op/util/conv.h"
#include "op/util/pool.h"

/* x [N, ..., C] as [N, C, ...]. */
static const char *to_nchw(takt_emit *e, const char *x, int rank)
{
    int64_t perm[TAKT_MAX_RANK] = {0, rank - 1};
    for (int i = 2; i < rank; i++)
        perm[i] = i - 1;
    return takt_emit_transpose(e, takt_emit_fresh(e), x, perm, rank);
}

static void to_nhwc(takt_emit *e, const char *y, int rank)
{
    int64_t perm[TAKT_MAX_RANK] = {0};
    for (int i = 1; i < rank; i++)
        perm[i] = i + 1 < rank ? i + 1 : 1;
    takt_emit_transpose(e, e->out, y, perm, rank);
}

static bool is_float(takt_dtype dtype)
{
    return (TAKT_FLOATS & TAKT_IN(dtype)) != 0;
}

/* Dilations of 1, the default, are left out: some engines do not know the attribute on every
 * operator. */
static bool is_dilated(const takt_attr *dilation)
{
    for (uint32_t i = 0; i < dilation->count; i++)
        if (dilation->i64s[i] != 1)
            return true;
    return false;
}

static void window(takt_emit *e, const takt_attr *stride, const takt_attr *dilation,
                   const takt_attr *pad)
{
    takt_emit_ints(e, "strides", stride->i64s, stride->count);
    if (is_dilated(dilation))
        takt_emit_ints(e, "dilations", dilation->i64s, dilation->count);
    takt_emit_ints(e, "pads", pad->i64s, pad->count);
}

static int64_t entry(const takt_attr *list, int i, int64_t fallback)
{
    return (uint32_t)i < list->count ? list->i64s[i] : fallback;
}

/* x + more - (stride * y + less) for dimensions that may have names: false if it is not a
 * number. */
static bool difference(takt_emit *e, const takt_dim *xy, int64_t stride, int64_t more, int64_t less,
                       int64_t *out)
{
    takt_dims *dims = e->frame->g->dims;
    takt_dim a, b;
    return takt_dim_make(dims, TAKT_DIM_ADD, xy[0], more, &a) == TAKT_OK &&
           takt_dim_make(dims, TAKT_DIM_MUL, xy[1], stride, &b) == TAKT_OK &&
           takt_dim_make(dims, TAKT_DIM_ADD, b, less, &b) == TAKT_OK &&
           takt_dim_make(dims, TAKT_DIM_SUB, a, b, out) == TAKT_OK && takt_dim_is_number(*out);
}

/* The output padding that sizes alone do not determine in a transposed convolution; false: ONNX
 * cannot express it either. */
static bool output_padding(takt_emit *e, const takt_node *n, bool is_nhwc, int64_t *out)
{
    const takt_type *dy = takt_emit_type(e, 0), *w = takt_emit_type(e, 1), *x = &n->type[0];
    const takt_attr *a = n->attr;
    const int spatial = x->rank - 2, first = is_nhwc ? 1 : 2;
    if (!takt_type_is_concrete(w))
        return false;
    for (int i = 0; i < spatial; i++) {
        const int64_t stride = entry(&a[TAKT_CONV_STRIDE], i, 1);
        const int64_t dilation = entry(&a[TAKT_CONV_DILATION], i, 1);
        const int64_t reach = (w->dim[first + i] - 1) * dilation + 1;
        const int64_t pads =
            entry(&a[TAKT_CONV_PAD], i, 0) + entry(&a[TAKT_CONV_PAD], i + spatial, 0);
        const takt_dim xy[2] = {x->dim[first + i], dy->dim[first + i]};
        if (!difference(e, xy, stride, stride + pads, reach, &out[i]))
            return false;
        if (out[i] < 0 || (out[i] >= stride && out[i] >= dilation))
            return false;
    }
    return true;
}

/* ---- integers ---- */

typedef struct interval {
    double low, high;
    bool is_known;
} interval;

static interval of_constant(const takt_tensor *t)
{
    interval r = {.is_known = true};
    for (size_t i = 0; i < takt_tensor_count(t); i++) {
        const double v = takt_dtype_to_double(
            t->type.dtype, takt_dtype_get_i(t->type.dtype, takt_tensor_data(t), i));
        r.low = v < r.low ? v : r.low;
        r.high = v > r.high ? v : r.high;
    }
    return r;
}

/* The range of an integer value; for quantised models looking back a few nodes is enough. */
static interval range_of(const takt_graph *g, takt_id id, int depth)
{
    const takt_node *n = takt_node_at(g, id);
    if (n->op == &takt_op_constant && takt_dtype_is_int(n->type[0].dtype))
        return of_constant(n->attr[0].tensor);
    if (n->type[0].dtype == TAKT_I8)
        return (interval){-128, 127, true};
    if (n->type[0].dtype == TAKT_U8)
        return (interval){0, 255, true};
    if (depth == 0)
        return (interval){0};
    if (n->op == &takt_op_cast || n->op == &takt_op_reshape || n->op == &takt_op_transpose)
        return takt_dtype_is_float(takt_type_of(g, n->in[0])->dtype)
                   ? (interval){0}
                   : range_of(g, n->in[0], depth - 1);
    if (n->op != &takt_op_sub)
        return (interval){0};
    const interval a = range_of(g, n->in[0], depth - 1), b = range_of(g, n->in[1], depth - 1);
    return (interval){a.low - b.high, a.high - b.low, a.is_known && b.is_known};
}

static double largest(const takt_emit *e, size_t i)
{
    const interval r = range_of(e->frame->g, e->node->in[i], 6);
    return !r.is_known ? -1 : r.high > -r.low ? r.high : -r.low;
}

/* ONNX convolves floats, and a float holds integers up to 2^24: the limit for sums. */
typedef enum exactness { WHOLE, IN_HALVES, NOT_EXACT } exactness;

static exactness exactness_of(const takt_emit *e, const takt_node *n)
{
    const takt_type *w = takt_emit_type(e, 1);
    const double x_most = largest(e, 0), w_most = largest(e, 1);
    double terms = 1;
    for (int d = 1; d < w->rank; d++)
        terms *= (double)w->dim[d];
    if (x_most < 0 || w_most < 0 || n->op != &takt_op_conv || !takt_type_is_concrete(w))
        return NOT_EXACT;
    if (terms * x_most * w_most <= 0x1p24)
        return WHOLE;
    return terms * x_most * 16 <= 0x1p24 && w_most <= 255 ? IN_HALVES : NOT_EXACT;
}

static const char *float_conv(takt_emit *e, const takt_node *n, const char *x, const char *w,
                              const char *out)
{
    const takt_attr *a = n->attr;
    window(e, &a[TAKT_CONV_STRIDE], &a[TAKT_CONV_DILATION], &a[TAKT_CONV_PAD]);
    takt_emit_i(e, "group", a[TAKT_CONV_GROUPS].i64);
    const char *y = takt_emit_2(e, "Conv", takt_emit_fresh(e), x, w);
    return takt_emit_cast(e, out, y, n->type[0].dtype);
}

/* w = 16 high + low, so that the sums of both stay small. */
static void conv_in_halves(takt_emit *e, const takt_node *n, const char *x, const char *w)
{
    const char *by = takt_emit_scalar(e, TAKT_F32, 16);
    const char *high = takt_emit_1(e, "Floor", takt_emit_fresh(e),
                                   takt_emit_2(e, "Div", takt_emit_fresh(e), w, by));
    const char *low = takt_emit_2(e, "Sub", takt_emit_fresh(e), w,
                                  takt_emit_2(e, "Mul", takt_emit_fresh(e), high, by));
    const char *a = float_conv(e, n, x, high, takt_emit_fresh(e));
    const char *b = float_conv(e, n, x, low, takt_emit_fresh(e));
    a = takt_emit_2(e, "Mul", takt_emit_fresh(e), a, takt_emit_scalar(e, n->type[0].dtype, 16));
    takt_emit_2(e, "Add", e->out, a, b);
}

static bool convolve_integers(takt_emit *e, const takt_node *n)
{
    const exactness exact = exactness_of(e, n);
    if (exact == NOT_EXACT || n->type[0].dtype != TAKT_I32 || n->attr[TAKT_CONV_LAYOUT].i64 != 0)
        return false;
    const char *x = takt_emit_cast(e, takt_emit_fresh(e), takt_emit_in(e, 0), TAKT_F32);
    const char *w = takt_emit_cast(e, takt_emit_fresh(e), takt_emit_in(e, 1), TAKT_F32);
    if (exact == WHOLE)
        float_conv(e, n, x, w, e->out);
    else
        conv_in_halves(e, n, x, w);
    return true;
}

static bool convolve(takt_emit *e, const takt_node *n)
{
    const takt_attr *a = n->attr;
    const bool is_nhwc = a[TAKT_CONV_LAYOUT].i64 != 0, is_dx = n->op == &takt_op_conv_dx;
    const int rank = n->type[0].rank;
    int64_t extra[TAKT_MAX_RANK];
    if (!is_float(n->type[0].dtype))
        return convolve_integers(e, n);
    if (is_dx && !output_padding(e, n, is_nhwc, extra))
        return false;
    const char *x = takt_emit_in(e, 0), *w = takt_emit_in(e, 1);
    if (is_nhwc) {
        x = to_nchw(e, x, rank);
        w = to_nchw(e, w, rank);
    }
    window(e, &a[TAKT_CONV_STRIDE], &a[TAKT_CONV_DILATION], &a[TAKT_CONV_PAD]);
    takt_emit_i(e, "group", a[TAKT_CONV_GROUPS].i64);
    if (is_dx)
        takt_emit_ints(e, "output_padding", extra, (size_t)rank - 2);
    const char *y = takt_emit_3(e, is_dx ? "ConvTranspose" : "Conv",
                                is_nhwc ? takt_emit_fresh(e) : e->out, x, w, e->bias);
    if (is_nhwc)
        to_nhwc(e, y, rank);
    return true;
}

static bool pool(takt_emit *e, const takt_node *n)
{
    const takt_attr *a = n->attr;
    const takt_dtype dtype = n->type[0].dtype;
    const bool is_max = n->op == &takt_op_max_pool, is_nhwc = a[TAKT_POOL_LAYOUT].i64 != 0;
    const int rank = n->type[0].rank;
    if (!is_float(dtype) && dtype != TAKT_I8 && dtype != TAKT_U8)
        return false;
    const char *x = takt_emit_in(e, 0);
    if (is_nhwc)
        x = to_nchw(e, x, rank);
    takt_emit_ints(e, "kernel_shape", a[TAKT_POOL_KERNEL].i64s, a[TAKT_POOL_KERNEL].count);
    window(e, &a[TAKT_POOL_STRIDE], &a[TAKT_POOL_DILATION], &a[TAKT_POOL_PAD]);
    takt_emit_i(e, "ceil_mode", a[TAKT_POOL_CEIL].boolean);
    if (!is_max)
        takt_emit_i(e, "count_include_pad", a[TAKT_POOL_COUNT_PAD].boolean);
    const char *y = takt_emit_1(e, is_max ? "MaxPool" : "AveragePool",
                                is_nhwc ? takt_emit_fresh(e) : e->out, x);
    if (is_nhwc)
        to_nhwc(e, y, rank);
    return true;
}

static bool emit(takt_emit *e, const takt_node *n)
{
    return n->op == &takt_op_conv || n->op == &takt_op_conv_dx ? convolve(e, n) : pool(e, n);
}

const takt_emitter takt_emit_op_spatial = {
    .ops = {&takt_op_conv, &takt_op_conv_dx, &takt_op_max_pool, &takt_op_avg_pool},
    .emit = emit,
};
