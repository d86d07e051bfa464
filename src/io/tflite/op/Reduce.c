/* Reduce.c - MEAN, SUM, REDUCE_MAX, REDUCE_MIN, REDUCE_PROD, REDUCE_ANY and REDUCE_ALL. */
#include <math.h>

#include "io/tflite/window.h"
#include "op/util/integer.h"

typedef struct axes {
    int64_t at[TAKT_MAX_RANK];
    size_t count;
    int64_t elements; /* that become one */
} axes;

static bool read_axes(takt_tfl_call *c, const takt_type *t, axes *a)
{
    const takt_tfl_ints given = takt_tfl_known(c, 1);
    bool seen[TAKT_MAX_RANK] = {false};
    *a = (axes){.elements = 1};
    for (size_t i = 0; i < given.count && takt_tfl_good(c); i++) {
        const int d = takt_tfl_axis(c, given.at[i], t->rank);
        if (takt_tfl_good(c) && !seen[d]) {
            seen[d] = true;
            a->at[a->count++] = d;
            a->elements *= t->dim[d];
        }
    }
    return takt_tfl_good(c);
}

static const takt_op *op_of(const takt_tfl_call *c)
{
    return takt_tfl_is(c, "SUM")           ? &takt_op_reduce_sum
           : takt_tfl_is(c, "MEAN")        ? &takt_op_reduce_mean
           : takt_tfl_is(c, "REDUCE_MAX")  ? &takt_op_reduce_max
           : takt_tfl_is(c, "REDUCE_MIN")  ? &takt_op_reduce_min
           : takt_tfl_is(c, "REDUCE_PROD") ? &takt_op_reduce_prod
           : takt_tfl_is(c, "REDUCE_ANY")  ? &takt_op_reduce_max
                                           : &takt_op_reduce_min;
}

static takt_id reduced(takt_tfl_call *c, const takt_op *op, takt_id x, const axes *a)
{
    if (a->count == 0)
        return x;
    return takt_reduce_over(c->g, op, x, a->at, a->count, takt_tfl_u8(c, 0, 0) != 0);
}

/* Folds the mean's divisor into the scale, with as many bits as fit next to the multiplier. */
static takt_tfl_fixed mean_factor(takt_tfl_fixed f, int64_t count)
{
    int bits = 63 - __builtin_clzll((unsigned long long)count);
    bits = bits < 32 ? bits : 32;
    bits = bits < 31 + f.shift ? bits : 31 + f.shift;
    const int64_t up = (int64_t)((uint64_t)f.multiplier << bits);
    return (takt_tfl_fixed){(int32_t)(up / count), f.shift - bits};
}

/* Bytes as an image, [samples, rows, 1, channels], and the shape of the result. */
typedef struct image {
    int64_t dims[4];
    takt_dim shape[TAKT_MAX_RANK];
    size_t rank;
} image;

/* False: x has no bytes, the axes that go do not lie between others, or are too long. */
static bool image_of(const takt_type *t, const axes *a, bool keeps, image *m)
{
    enum { MOST = 1024, SAMPLES = 0, ROWS = 1, CHANNELS = 3 };
    bool goes[TAKT_MAX_RANK] = {false};
    int part = SAMPLES;
    *m = (image){.dims = {1, 1, 1, 1}};
    for (size_t i = 0; i < a->count; i++)
        goes[a->at[i]] = true;
    for (int d = 0; d < t->rank; d++) {
        if (t->dim[d] < 1 || (goes[d] && part == CHANNELS))
            return false;
        part = goes[d] ? ROWS : part == ROWS ? CHANNELS : part;
        m->dims[part] *= t->dim[d];
        if (!goes[d] || keeps)
            m->shape[m->rank++] = goes[d] ? 1 : t->dim[d];
    }
    return (t->dtype == TAKT_I8 || t->dtype == TAKT_U8) && part == CHANNELS && m->dims[1] <= MOST;
}

/* The same as a convolution with ones, which scales its sums; TAKT_NONE: it cannot be one. */
static takt_id convolved(takt_tfl_call *c, takt_id x, const axes *a, takt_tfl_fixed f)
{
    takt_graph *g = c->g;
    const takt_type t = *takt_type_of(g, x);
    const takt_tfl_tensor *tx = takt_tfl_tensor_in(c, 0), *ty = takt_tfl_tensor_out(c, 0);
    const takt_dtype made = takt_tfl_dtype_of(ty->type);
    image m;
    if (!image_of(&t, a, takt_tfl_u8(c, 0, 0) != 0, &m) || !takt_tfl_good(c) ||
        (made != TAKT_I8 && made != TAKT_U8))
        return TAKT_NONE;
    const takt_tfl_window w = {.axes = 2, .stride = {1, 1}, .dilation = {1, 1}};
    const int64_t ones[] = {m.dims[3], m.dims[1], 1, 1};
    takt_named_attr attrs[TAKT_TFL_CONV_ATTRS];
    takt_tfl_window_attrs(&w, m.dims[3], attrs);
    const takt_id in[TAKT_INTEGER_ALL] = {
        [TAKT_INTEGER_A] = takt_reshape(g, x, m.dims, 4),
        [TAKT_INTEGER_B] = takt_broadcast(g, takt_tfl_number(c, TAKT_I8, 1), ones, 4),
        [TAKT_INTEGER_A_ZERO] = takt_tfl_number(c, t.dtype, takt_tfl_quant_of(c, tx).zero),
        [TAKT_INTEGER_B_ZERO] = TAKT_NONE,
        [TAKT_INTEGER_BIAS] = TAKT_NONE,
        [TAKT_INTEGER_SCALE] = takt_tfl_number(c, TAKT_I32, f.multiplier),
        [TAKT_INTEGER_ZERO] = takt_tfl_number(c, made, takt_tfl_quant_of(c, ty).zero),
        [TAKT_INTEGER_SHIFT] = takt_tfl_number(c, TAKT_I32, f.shift)};
    const takt_id y =
        takt_graph_call(g, &takt_op_integer_conv, TAKT_INTEGER_ALL, in, TAKT_TFL_CONV_ATTRS, attrs);
    return takt_reshape(g, y, m.shape, m.rank);
}

static takt_id integers(takt_tfl_call *c, takt_id x, const axes *a)
{
    takt_graph *g = c->g;
    const takt_tfl_tensor *ty = takt_tfl_tensor_out(c, 0);
    const takt_tfl_quant q = takt_tfl_quant_of(c, takt_tfl_tensor_in(c, 0)),
                         r = takt_tfl_quant_of(c, ty);
    const takt_dtype dtype = takt_tfl_dtype_of(ty->type);
    const bool is_mean = takt_tfl_is(c, "MEAN");
    if (!takt_tfl_good(c) || a->elements < 1)
        return TAKT_NONE;
    const float real = q.scale / r.scale;
    takt_tfl_fixed f =
        takt_tfl_fixed_of(is_mean ? (double)q.scale / (double)r.scale : (double)real);
    if (is_mean)
        f = mean_factor(f, a->elements);
    const takt_id y = convolved(c, x, a, f);
    if (y != TAKT_NONE)
        return y;
    takt_id sum = reduced(c, &takt_op_reduce_sum, takt_tfl_cast(c, x, TAKT_I32), a);
    if (q.zero != 0 && sum != TAKT_NONE)
        sum = takt_sub(g, sum, takt_tfl_number(c, TAKT_I32, (double)q.zero * (double)a->elements));
    return takt_tfl_saturate(c, takt_tfl_rescale(c, sum, f), r.zero, takt_tfl_range_of(dtype),
                             dtype);
}

/* ---- products of quantised numbers ---- */

/* The axes that go, in their order, as one last axis. */
static takt_id factors_last(takt_tfl_call *c, takt_id x, const axes *a)
{
    const takt_type t = *takt_type_of(c->g, x);
    bool goes[TAKT_MAX_RANK] = {false};
    int64_t perm[TAKT_MAX_RANK], dims[TAKT_MAX_RANK + 1];
    size_t count = 0;
    for (size_t i = 0; i < a->count; i++)
        goes[a->at[i]] = true;
    for (int d = 0; d < t.rank; d++)
        if (!goes[d]) {
            dims[count] = t.dim[d];
            perm[count++] = d;
        }
    dims[count] = a->elements;
    size_t at = count;
    for (int d = 0; d < t.rank; d++)
        if (goes[d])
            perm[at++] = d;
    return takt_reshape(c->g, takt_transpose(c->g, x, perm, (size_t)t.rank), dims, count + 1);
}

/* One factor after another, with a scaling behind each and behind the last, as in LiteRT. */
static takt_id product(takt_tfl_call *c, takt_id x, const axes *a)
{
    enum { MOST = 1024 };
    takt_graph *g = c->g;
    const takt_tfl_tensor *ty = takt_tfl_tensor_out(c, 0);
    const takt_tfl_quant q = takt_tfl_quant_of(c, takt_tfl_tensor_in(c, 0)),
                         r = takt_tfl_quant_of(c, ty);
    const takt_dtype dtype = takt_tfl_dtype_of(ty->type);
    if (a->elements < 1 || a->elements > MOST)
        (void)takt_tfl_refuse(c, "a product of %lld quantised numbers", (long long)a->elements);
    if (!takt_tfl_good(c))
        return TAKT_NONE;
    const takt_tfl_fixed f =
        takt_tfl_fixed_of((double)q.scale / pow((double)r.scale, 1.0 / (double)a->elements));
    const takt_id all =
        takt_tfl_cast(c, takt_tfl_centred(c, factors_last(c, x, a), q.zero), TAKT_I64);
    if (all == TAKT_NONE)
        return TAKT_NONE;
    const int last = takt_type_of(g, all)->rank - 1;
    takt_id y = takt_slice(g, all, last, 0, 1, 1);
    for (int64_t i = 1; i < a->elements; i++)
        y = takt_tfl_rescale(c, takt_mul(g, y, takt_slice(g, all, last, i, i + 1, 1)), f);
    y = takt_tfl_squeeze(c, takt_tfl_cast(c, takt_tfl_rescale(c, y, f), TAKT_I32), last);
    for (int d = 0; takt_tfl_u8(c, 0, 0) != 0 && d < takt_type_of(g, x)->rank; d++)
        for (size_t i = 0; i < a->count; i++)
            if (a->at[i] == d)
                y = takt_tfl_unsqueeze(c, y, d);
    return takt_tfl_saturate(c, y, r.zero, takt_tfl_range_of(dtype), dtype);
}

static takt_status adapt(takt_tfl_call *c)
{
    const takt_op *op = op_of(c);
    const takt_id x = takt_tfl_need(c, 0);
    const takt_type t = *takt_type_of(c->g, x);
    axes a;
    if (!takt_tfl_good(c) || !read_axes(c, &t, &a))
        return c->status;
    const bool is_quantised = takt_tfl_is_quantised(takt_tfl_tensor_in(c, 0));
    if (is_quantised && (op == &takt_op_reduce_mean || op == &takt_op_reduce_sum))
        return takt_tfl_done(c, integers(c, x, &a));
    if (is_quantised && op == &takt_op_reduce_prod)
        return takt_tfl_done(c, a.count == 0 ? x : product(c, x, &a));
    if (op == &takt_op_reduce_mean && !takt_dtype_is_float(t.dtype)) { /* integers: towards 0 */
        const takt_id sum = reduced(c, &takt_op_reduce_sum, takt_tfl_cast(c, x, TAKT_I64), &a);
        const takt_id mean = takt_div(c->g, sum, takt_scalar_i64(c->g, a.elements));
        return takt_tfl_done(c, takt_tfl_cast(c, mean, t.dtype));
    }
    if (t.dtype == TAKT_BOOL) /* sums are or, products are and */
        op = op == &takt_op_reduce_sum    ? &takt_op_reduce_max
             : op == &takt_op_reduce_prod ? &takt_op_reduce_min
                                          : op;
    return takt_tfl_done(c, reduced(c, op, x, &a));
}

const takt_tflite_op takt_tflite_Reduce = {
    .names = {"MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD", "REDUCE_ANY", "REDUCE_ALL"},
    .options = 27,
    .adapt = adapt};
