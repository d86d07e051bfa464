/* FullyConnected.c - FULLY_CONNECTED: weights [out, in]; integers, floats, and floats times
 * bytes. */
#include "io/tflite/quant.h"

enum { ACTIVATION, FORMAT, KEEP, ASYMMETRIC };

static takt_id scaled(takt_tfl_call *c, takt_id sum, const takt_tfl_tensor *tw,
                      const takt_tfl_dynamic *d, int64_t columns)
{
    takt_graph *g = c->g;
    const size_t n = tw->scale_count > 1 ? (size_t)columns : 1;
    double *v = takt_tfl_get(c, n, sizeof *v);
    if (tw->scale_count > 1 && tw->scale_count != n)
        (void)takt_tfl_refuse(c, "%zu scales for %zu channels", tw->scale_count, n);
    for (size_t i = 0; v != NULL && i < n; i++)
        v[i] = (double)takt_tfl_scale_at(c, tw, i);
    if (v == NULL || sum == TAKT_NONE || !takt_tfl_good(c))
        return TAKT_NONE;
    const takt_id weight = takt_tfl_make_f(c, TAKT_F32, v, &columns, n > 1 ? 1 : 0);
    return takt_mul(g, takt_tfl_cast(c, sum, TAKT_F32), takt_mul(g, d->scale, weight));
}

/* Each row is quantised at run time. */
static takt_id hybrid(takt_tfl_call *c, takt_id x, takt_id w)
{
    takt_graph *g = c->g;
    const takt_tfl_tensor *tw = takt_tfl_tensor_in(c, 1);
    const takt_tfl_dynamic d = takt_tfl_dynamic_of(c, x, takt_tfl_u8(c, ASYMMETRIC, 0) != 0, false);
    const int64_t first = 0, columns = takt_type_of(g, w)->dim[1];
    if (d.q == TAKT_NONE || !takt_tfl_good(c))
        return TAKT_NONE;
    takt_id sum = takt_binary(g, &takt_op_integer_matmul, d.q, w);
    if (d.zero != TAKT_NONE) {
        const takt_id rows = takt_reduce_over(g, &takt_op_reduce_sum, takt_tfl_cast(c, w, TAKT_I32),
                                              &first, 1, false);
        sum = takt_sub(g, sum, takt_mul(g, rows, d.zero));
    }
    return scaled(c, sum, tw, &d, columns);
}

static takt_id floats(takt_tfl_call *c, takt_id x, takt_id w, takt_id bias)
{
    const bool is_hybrid = !takt_dtype_is_float(takt_type_of(c->g, w)->dtype);
    takt_id y = is_hybrid ? hybrid(c, x, w)
                          : takt_matmul(c->g, x, takt_tfl_cast(c, w, TAKT_F32), false, false);
    if (bias != TAKT_NONE && y != TAKT_NONE)
        y = takt_add(c->g, y, bias);
    return takt_tfl_activate(c, y, takt_tfl_u8(c, ACTIVATION, 0));
}

static takt_id integers(takt_tfl_call *c, takt_id x, takt_id w, takt_id bias)
{
    const takt_tfl_product p = {.x = x,
                                .w = w,
                                .bias = bias,
                                .tx = takt_tfl_tensor_in(c, 0),
                                .tw = takt_tfl_tensor_in(c, 1),
                                .ty = takt_tfl_tensor_out(c, 0),
                                .columns = (size_t)takt_type_of(c->g, w)->dim[1],
                                .activation = takt_tfl_u8(c, ACTIVATION, 0),
                                .is_wide = true,
                                .op = &takt_op_integer_matmul};
    return takt_tfl_integer_product(c, &p);
}

/* [..., out] where axes are kept, else [rows, out]. */
static takt_id shaped(takt_tfl_call *c, takt_id y, const takt_type *x, int64_t rows, int64_t out)
{
    int64_t dims[TAKT_MAX_RANK];
    if (takt_tfl_u8(c, KEEP, 0) == 0)
        return takt_tfl_shape(c, y, (int64_t[]){rows, out}, 2);
    for (int d = 0; d < x->rank; d++)
        dims[d] = d + 1 == x->rank ? out : x->dim[d];
    return takt_tfl_shape(c, y, dims, x->rank);
}

static takt_status adapt(takt_tfl_call *c)
{
    static const int64_t perm[] = {1, 0};
    const takt_id x = takt_tfl_need(c, 0), w = takt_tfl_as_bytes(c, takt_tfl_need(c, 1));
    const takt_type tx = *takt_type_of(c->g, x), tw = *takt_type_of(c->g, w);
    size_t count;
    if (!takt_tfl_good(c))
        return c->status;
    if (takt_tfl_u8(c, FORMAT, 0) != 0)
        return takt_tfl_refuse(c, "weights that are shuffled for one processor");
    if (tw.rank != 2 || tx.rank < 1 || tw.dim[1] < 1 || !takt_type_count(&tx, &count) ||
        count % (size_t)tw.dim[1] != 0)
        return takt_tfl_refuse(c, "weights that do not fit their input");
    const int64_t rows = (int64_t)(count / (size_t)tw.dim[1]);
    const takt_id flat = takt_tfl_shape(c, x, (int64_t[]){rows, tw.dim[1]}, 2);
    const takt_id transposed = takt_transpose(c->g, w, perm, 2), bias = takt_tfl_in(c, 2);
    if (!takt_tfl_good(c))
        return c->status;
    const takt_id y = takt_dtype_is_float(tx.dtype) ? floats(c, flat, transposed, bias)
                                                    : integers(c, flat, transposed, bias);
    return takt_tfl_done(c, shaped(c, y, &tx, rows, tw.dim[0]));
}

const takt_tflite_op takt_tflite_FullyConnected = {
    .names = {"FULLY_CONNECTED"}, .options = 8, .adapt = adapt};
