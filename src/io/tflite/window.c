/* window.c - windows of convolutions and pools. */
#include "io/tflite/window.h"

#include "op/util/integer.h"
#include "op/util/window.h"

bool takt_tfl_window_set(takt_tfl_call *c, takt_tfl_window *w, int padding)
{
    for (size_t i = 0; i < w->axes; i++) {
        if (w->stride[i] < 1 || w->dilation[i] < 1 || w->kernel[i] < 1 || w->in[i] < 1) {
            (void)takt_tfl_refuse(c, "a window of %lld, stride %lld, dilation %lld on %lld",
                                  (long long)w->kernel[i], (long long)w->stride[i],
                                  (long long)w->dilation[i], (long long)w->in[i]);
            return false;
        }
        if (w->kernel[i] > INT32_MAX / w->dilation[i]) {
            (void)takt_tfl_refuse(c, "a window is too large");
            return false;
        }
        const int64_t reach = (w->kernel[i] - 1) * w->dilation[i] + 1;
        const bool is_same = padding == 0;
        w->out[i] = is_same ? (w->in[i] + w->stride[i] - 1) / w->stride[i]
                            : (w->in[i] - reach + w->stride[i]) / w->stride[i];
        if (w->out[i] < 1) {
            (void)takt_tfl_refuse(c, "a window of %lld on %lld", (long long)reach,
                                  (long long)w->in[i]);
            return false;
        }
        const int64_t total = (w->out[i] - 1) * w->stride[i] + reach - w->in[i];
        w->pad[i] = is_same && total > 0 ? total / 2 : 0;
        w->pad[w->axes + i] = is_same && total > 0 ? total - total / 2 : 0;
    }
    return takt_tfl_good(c);
}

void takt_tfl_window_attrs(const takt_tfl_window *w, int64_t groups,
                           takt_named_attr attrs[static TAKT_TFL_CONV_ATTRS])
{
    attrs[0] = (takt_named_attr){"stride", takt_attr_i64s(w->stride, w->axes)};
    attrs[1] = (takt_named_attr){"dilation", takt_attr_i64s(w->dilation, w->axes)};
    attrs[2] = (takt_named_attr){"pad", takt_attr_i64s(w->pad, 2 * w->axes)};
    attrs[3] = (takt_named_attr){"groups", takt_attr_i64(groups)};
    attrs[4] = (takt_named_attr){"layout", takt_attr_i64(TAKT_NHWC)};
}

static takt_id finished(takt_tfl_call *c, takt_id y, takt_id bias, int activation)
{
    if (bias != TAKT_NONE && y != TAKT_NONE)
        y = takt_add(c->g, y, bias);
    return takt_tfl_activate(c, y, activation);
}

takt_id takt_tfl_weight_scale(takt_tfl_call *c, const takt_tfl_tensor *t, size_t columns)
{
    const size_t n = t->scale_count > 1 ? columns : 1;
    double *v = takt_tfl_get(c, n, sizeof *v);
    const int64_t dim = (int64_t)n;
    if (t->scale_count > 1 && t->scale_count != n)
        c->status = takt_flat_fail(c->flat, t->at, "tensor %.*s has %zu scales for %zu channels",
                                   (int)t->name.length, t->name.at, t->scale_count, n);
    for (size_t i = 0; v != NULL && i < n; i++)
        v[i] = (double)takt_tfl_scale_at(c, t, i);
    return v == NULL || !takt_tfl_good(c) ? TAKT_NONE
                                          : takt_tfl_make_f(c, TAKT_F32, v, &dim, n > 1 ? 1 : 0);
}

static bool is_one(const takt_graph *g, takt_id id)
{
    const takt_type *t = takt_type_of(g, id);
    bool all = true;
    for (int d = 0; d < t->rank; d++)
        all = all && t->dim[d] == 1;
    return all;
}

/* One sample without a zero point: sums become floats as they are finished. */
static takt_id scaled_sums(takt_tfl_call *c, const takt_tfl_conv *v, takt_id q, takt_id scale,
                           takt_named_attr attrs[static TAKT_TFL_CONV_ATTRS])
{
    const takt_id in[] = {q,         v->w,      TAKT_NONE,
                          TAKT_NONE, TAKT_NONE, takt_reshape(c->g, scale, NULL, 0)};
    return takt_graph_call(c->g, &takt_op_integer_conv, TAKT_INTEGER_SCALE + 1, in,
                           TAKT_TFL_CONV_ATTRS, attrs);
}

/* Float input with 8-bit weights: each sample is quantised at run time. Zero points differ from
 * sample to sample, so their contribution is subtracted by a convolution of a mask without the
 * padding. */
static takt_id hybrid(takt_tfl_call *c, const takt_tfl_conv *v,
                      takt_named_attr attrs[static TAKT_TFL_CONV_ATTRS])
{
    takt_graph *g = c->g;
    const bool is_each = v->tw->scale_count > 1;
    const takt_tfl_dynamic d = takt_tfl_dynamic_of(c, v->x, is_each, true);
    const size_t columns = (size_t)takt_type_of(g, v->w)->dim[0];
    const takt_id scale = takt_tfl_weight_scale(c, v->tw, columns);
    if (d.q == TAKT_NONE || scale == TAKT_NONE || !takt_tfl_good(c))
        return TAKT_NONE;
    if (!is_each && is_one(g, d.scale)) {
        const takt_id y = scaled_sums(c, v, d.q, takt_mul(g, d.scale, scale), attrs);
        return finished(c, y, v->bias, v->activation);
    }
    takt_id sum = takt_graph_call(g, &takt_op_integer_conv, 2, (takt_id[]){d.q, v->w},
                                  TAKT_TFL_CONV_ATTRS, attrs);
    if (d.zero != TAKT_NONE) {
        takt_type one = *takt_type_of(g, d.q);
        one.dim[0] = 1;
        const takt_id ones =
            takt_broadcast(g, takt_tfl_number(c, TAKT_I8, 1), one.dim, (size_t)one.rank);
        const takt_id counted = takt_graph_call(
            g, &takt_op_integer_conv, 2, (takt_id[]){ones, v->w}, TAKT_TFL_CONV_ATTRS, attrs);
        sum = takt_sub(g, sum, takt_mul(g, counted, d.zero));
    }
    const takt_id wide = takt_tfl_cast(c, sum, TAKT_F32);
    const takt_id y = is_each ? takt_mul(g, takt_mul(g, wide, scale), d.scale)
                              : takt_mul(g, wide, takt_mul(g, d.scale, scale));
    return finished(c, y, v->bias, v->activation);
}

takt_id takt_tfl_convolve(takt_tfl_call *c, const takt_tfl_window *w, const takt_tfl_conv *v)
{
    takt_named_attr attrs[TAKT_TFL_CONV_ATTRS];
    const takt_tfl_tensor *tx = takt_tfl_tensor_in(c, 0);
    if (v->x == TAKT_NONE || v->w == TAKT_NONE || !takt_tfl_good(c))
        return TAKT_NONE;
    takt_tfl_window_attrs(w, v->groups, attrs);
    const takt_dtype x = takt_type_of(c->g, v->x)->dtype, k = takt_type_of(c->g, v->w)->dtype;
    if (takt_dtype_is_float(x) && !takt_dtype_is_float(k))
        return hybrid(c, v, attrs);
    if (takt_dtype_is_float(x))
        return finished(c, takt_tfl_op2(c, &takt_op_conv, v->x, v->w, TAKT_TFL_CONV_ATTRS, attrs),
                        v->bias, v->activation);
    const takt_tfl_product p = {.x = v->x,
                                .w = v->w,
                                .bias = v->bias,
                                .tx = tx,
                                .tw = v->tw,
                                .ty = takt_tfl_tensor_out(c, 0),
                                .columns = (size_t)takt_type_of(c->g, v->w)->dim[0],
                                .activation = v->activation,
                                .is_rounded = x == TAKT_U8,
                                .op = &takt_op_integer_conv,
                                .attr_count = TAKT_TFL_CONV_ATTRS,
                                .attrs = attrs};
    return takt_tfl_integer_product(c, &p);
}
