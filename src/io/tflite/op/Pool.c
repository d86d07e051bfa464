/* Pool.c - AVERAGE_POOL_2D, MAX_POOL_2D and L2_POOL_2D, channels last. */
#include "io/tflite/window.h"
#include "op/util/window.h"

enum { PADDING, STRIDE_W, STRIDE_H, WIDTH, HEIGHT, ACTIVATION };

static takt_id pooled(takt_tfl_call *c, const takt_op *op, takt_id x, const takt_tfl_window *w)
{
    const takt_named_attr attrs[] = {{"kernel", takt_attr_i64s(w->kernel, 2)},
                                     {"stride", takt_attr_i64s(w->stride, 2)},
                                     {"pad", takt_attr_i64s(w->pad, 4)},
                                     {"layout", takt_attr_i64(TAKT_NHWC)}};
    return takt_tfl_op1(c, op, x, 4, attrs);
}

/* Number of input elements in each window, by `divisor`: [1, rows, columns, 1]. */
static takt_id counts(takt_tfl_call *c, const takt_tfl_window *w, int64_t divisor)
{
    const int64_t dims[] = {1, w->out[0], w->out[1], 1};
    int64_t *v = takt_tfl_get(c, (size_t)(w->out[0] * w->out[1]), sizeof *v), size[2];
    for (int64_t i = 0; v != NULL && i < w->out[0] * w->out[1]; i++) {
        const int64_t at[2] = {i / w->out[1], i % w->out[1]};
        for (int d = 0; d < 2; d++) {
            const int64_t first = at[d] * w->stride[d] - w->pad[d], end = first + w->kernel[d];
            size[d] = (end < w->in[d] ? end : w->in[d]) - (first > 0 ? first : 0);
        }
        v[i] = (size[0] * size[1] > 0 ? size[0] * size[1] : 1) / divisor;
    }
    return v == NULL ? TAKT_NONE : takt_tfl_make_i(c, TAKT_I32, v, dims, 4);
}

/* Sums as a convolution with ones: bytes use byte kernels, others are exact in doubles. */
static takt_id sums(takt_tfl_call *c, takt_id x, const takt_tfl_window *w)
{
    const takt_type t = *takt_type_of(c->g, x);
    const bool is_byte = t.dtype == TAKT_I8 || t.dtype == TAKT_U8;
    const int64_t dims[] = {t.dim[3], w->kernel[0], w->kernel[1], 1};
    takt_named_attr attrs[TAKT_TFL_CONV_ATTRS];
    takt_tfl_window_attrs(w, t.dim[3], attrs);
    const takt_id one = takt_tfl_number(c, is_byte ? TAKT_I8 : TAKT_F64, 1);
    if (!takt_tfl_good(c))
        return TAKT_NONE;
    const takt_id ones = takt_broadcast(c->g, one, dims, 4);
    const takt_id y =
        takt_tfl_op2(c, is_byte ? &takt_op_integer_conv : &takt_op_conv,
                     is_byte ? x : takt_tfl_cast(c, x, TAKT_F64), ones, TAKT_TFL_CONV_ATTRS, attrs);
    return takt_tfl_cast(c, y, TAKT_I32);
}

/* The nearest integer, halves away from zero. */
static takt_id integer_mean(takt_tfl_call *c, takt_id x, const takt_tfl_window *w)
{
    takt_graph *g = c->g;
    const takt_tfl_tensor *ty = takt_tfl_tensor_out(c, 0);
    const takt_dtype dtype = takt_type_of(g, x)->dtype;
    const takt_id sum = sums(c, x, w), count = counts(c, w, 1), half = counts(c, w, 2);
    if (sum == TAKT_NONE || count == TAKT_NONE || half == TAKT_NONE)
        return TAKT_NONE;
    const takt_id above = takt_binary(g, &takt_op_gt, sum, takt_tfl_number(c, TAKT_I32, 0));
    const takt_id near = takt_select(g, above, takt_add(g, sum, half), takt_sub(g, sum, half));
    const takt_id y = takt_tfl_cast(c, takt_div(g, near, count), dtype);
    return takt_tfl_bound(c, y, takt_tfl_activation(c, ty, takt_tfl_u8(c, ACTIVATION, 0)));
}

static takt_id floats(takt_tfl_call *c, takt_id x, const takt_tfl_window *w)
{
    takt_id y;
    if (takt_tfl_is(c, "L2_POOL_2D"))
        y = takt_unary(c->g, &takt_op_sqrt,
                       pooled(c, &takt_op_avg_pool, takt_unary(c->g, &takt_op_square, x), w));
    else
        y = pooled(c, takt_tfl_is(c, "MAX_POOL_2D") ? &takt_op_max_pool : &takt_op_avg_pool, x, w);
    return takt_tfl_activate(c, y, takt_tfl_u8(c, ACTIVATION, 0));
}

static takt_status adapt(takt_tfl_call *c)
{
    const takt_id x = takt_tfl_need(c, 0);
    const takt_type t = *takt_type_of(c->g, x);
    if (!takt_tfl_good(c))
        return c->status;
    if (t.rank != 4)
        return takt_tfl_refuse(c, "an input that is not an image");
    takt_tfl_window w = {.axes = 2,
                         .in = {t.dim[1], t.dim[2]},
                         .kernel = {takt_tfl_i32(c, HEIGHT, 0), takt_tfl_i32(c, WIDTH, 0)},
                         .stride = {takt_tfl_i32(c, STRIDE_H, 0), takt_tfl_i32(c, STRIDE_W, 0)},
                         .dilation = {1, 1}};
    if (!takt_tfl_window_set(c, &w, takt_tfl_u8(c, PADDING, 0)))
        return c->status;
    if (takt_dtype_is_float(t.dtype))
        return takt_tfl_done(c, floats(c, x, &w));
    if (takt_tfl_is(c, "L2_POOL_2D"))
        return takt_tfl_refuse(c, "integers");
    if (takt_tfl_is(c, "AVERAGE_POOL_2D"))
        return takt_tfl_done(c, integer_mean(c, x, &w));
    const takt_tfl_range range =
        takt_tfl_activation(c, takt_tfl_tensor_out(c, 0), takt_tfl_u8(c, ACTIVATION, 0));
    return takt_tfl_done(c, takt_tfl_bound(c, pooled(c, &takt_op_max_pool, x, &w), range));
}

const takt_tflite_op takt_tflite_Pool = {
    .names = {"AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D"}, .options = 5, .adapt = adapt};
