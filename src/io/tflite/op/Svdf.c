/* Svdf.c - SVDF: a filter over features, then one over time, whose history is state. */
#include "io/tflite/quant.h"
#include "op/util/integer.h"

enum { X, FEATURE, TIME, BIAS, STATE };

typedef struct sizes {
    int64_t batch, filters, memory, rank;
    int activation;
    int time; /* the axis of time in [batch, filters, memory]: 2, or 1 with filters last */
} sizes;

/* Axes of the state: floats have it as the file does, integers, whose sums may be taken in any
 * order, with the filters last: then whole rows are moved and added. */
static void axes_of(const sizes *n, int64_t memory, int64_t dims[3])
{
    dims[0] = n->batch;
    dims[n->time] = memory;
    dims[3 - n->time] = n->filters;
}

/* The state without its oldest entry, and the newest. */
static takt_id remembered(takt_tfl_call *c, takt_id newest, const sizes *n)
{
    int64_t all[3], one[3];
    axes_of(n, n->memory, all);
    axes_of(n, 1, one);
    const takt_id old = takt_tfl_shape(c, takt_tfl_in(c, STATE), all, 3);
    const takt_id now = takt_tfl_shape(c, newest, one, 3);
    if (old == TAKT_NONE || now == TAKT_NONE)
        return TAKT_NONE;
    const takt_id parts[] = {takt_slice(c->g, old, n->time, 1, n->memory, 1), now};
    const takt_id next = n->memory > 1 ? takt_concat(c->g, parts, 2, n->time) : now;
    takt_tfl_next(c, STATE,
                  takt_tfl_shape(c, next, (int64_t[]){n->batch, n->filters * n->memory}, 2));
    return next;
}

/* Sums over time and over the filters of a unit: [batch, units]. */
static takt_id filtered(takt_tfl_call *c, takt_id state, takt_id weights, const sizes *n)
{
    const int64_t time = n->time, last = 2;
    if (state == TAKT_NONE || weights == TAKT_NONE)
        return TAKT_NONE;
    const takt_id each = takt_reduce_over(c->g, &takt_op_reduce_sum, takt_mul(c->g, state, weights),
                                          &time, 1, false);
    const takt_id units =
        takt_tfl_shape(c, each, (int64_t[]){n->batch, n->filters / n->rank, n->rank}, 3);
    const takt_id sum = units == TAKT_NONE
                            ? units
                            : takt_reduce_over(c->g, &takt_op_reduce_sum, units, &last, 1, false);
    const takt_id bias = takt_tfl_in(c, BIAS);
    return bias == TAKT_NONE || sum == TAKT_NONE ? sum : takt_add(c->g, sum, bias);
}

static float scale_of(takt_tfl_call *c, size_t i)
{
    return takt_tfl_quant_of(c, takt_tfl_tensor_in(c, i)).scale;
}

static takt_id integers(takt_tfl_call *c, takt_id x, takt_id transposed, const sizes *n)
{
    const takt_tfl_tensor *ty = takt_tfl_tensor_out(c, 0), *ts = takt_tfl_tensor_in(c, STATE);
    const takt_tfl_quant qx = takt_tfl_quant_of(c, takt_tfl_tensor_in(c, X)),
                         qy = takt_tfl_quant_of(c, ty);
    const takt_dtype state = takt_tfl_dtype_of(ts->type), out = takt_tfl_dtype_of(ty->type);
    const float in_scale = qx.scale * scale_of(c, FEATURE), first = in_scale / scale_of(c, STATE),
                time_scale = scale_of(c, STATE) * scale_of(c, TIME), second = time_scale / qy.scale;
    if (!takt_tfl_good(c))
        return TAKT_NONE;
    const takt_id in[] = {x, transposed, takt_tfl_number(c, TAKT_I8, qx.zero)};
    const takt_id dot = takt_graph_call(c->g, &takt_op_integer_matmul, 3, in, 0, NULL);
    const takt_id newest = takt_tfl_saturate(
        c, takt_tfl_rescale(c, dot, takt_tfl_fixed_of((double)first)),
        ts->zero_count > 0 ? (int32_t)ts->zero[0] : 0, takt_tfl_range_of(state), state);
    static const int64_t perm[] = {1, 0};
    const takt_id past = remembered(c, newest, n);
    const takt_id weights = takt_transpose(c->g, takt_tfl_in(c, TIME), perm, 2);
    const takt_id sum =
        filtered(c, takt_tfl_cast(c, past, TAKT_I32), takt_tfl_cast(c, weights, TAKT_I32), n);
    const takt_id y = takt_tfl_rescale(c, sum, takt_tfl_fixed_of((double)second));
    return takt_tfl_saturate(c, y, qy.zero, takt_tfl_range_of(out), out);
}

static takt_id floats(takt_tfl_call *c, takt_id x, takt_id transposed, const sizes *n)
{
    takt_id newest;
    if (takt_dtype_is_float(takt_type_of(c->g, transposed)->dtype)) {
        newest = takt_matmul(c->g, x, transposed, false, false);
    } else { /* by bytes */
        const takt_tfl_dynamic d = takt_tfl_dynamic_of(c, x, takt_tfl_u8(c, 2, 0) != 0, false);
        const int64_t first = 0;
        takt_id dot = takt_binary(c->g, &takt_op_integer_matmul, d.q, transposed);
        if (d.zero != TAKT_NONE && dot != TAKT_NONE)
            dot = takt_sub(
                c->g, dot,
                takt_mul(c->g,
                         takt_reduce_over(c->g, &takt_op_reduce_sum,
                                          takt_tfl_cast(c, transposed, TAKT_I32), &first, 1, false),
                         d.zero));
        if (dot == TAKT_NONE || !takt_tfl_good(c))
            return TAKT_NONE;
        const takt_id scale =
            takt_mul(c->g, d.scale, takt_tfl_number(c, TAKT_F32, (double)scale_of(c, FEATURE)));
        newest = takt_mul(c->g, takt_tfl_cast(c, dot, TAKT_F32), scale);
    }
    takt_id time = takt_tfl_in(c, TIME);
    if (time != TAKT_NONE && !takt_dtype_is_float(takt_type_of(c->g, time)->dtype))
        time = takt_tfl_dequantise(c, time, takt_tfl_tensor_in(c, TIME));
    return takt_tfl_activate(c, filtered(c, remembered(c, newest, n), time, n), n->activation);
}

static takt_status adapt(takt_tfl_call *c)
{
    static const int64_t perm[] = {1, 0};
    const takt_id x = takt_tfl_need(c, X), w = takt_tfl_need(c, FEATURE);
    (void)takt_tfl_need(c, TIME);
    (void)takt_tfl_need(c, STATE);
    const takt_type tx = *takt_type_of(c->g, x), tw = *takt_type_of(c->g, w),
                    tt = takt_tfl_type(c, TIME), ts = takt_tfl_type(c, STATE);
    if (!takt_tfl_good(c))
        return c->status;
    if (tx.rank != 2 || tw.rank != 2 || tt.rank != 2 || ts.rank != 2 || tw.dim[1] != tx.dim[1] ||
        tt.dim[0] != tw.dim[0] || tt.dim[1] < 1 || ts.dim[0] != tx.dim[0] ||
        ts.dim[1] != tt.dim[0] * tt.dim[1])
        return takt_tfl_refuse(c, "shapes that do not fit each other");
    const sizes n = {tx.dim[0],
                     tw.dim[0],
                     tt.dim[1],
                     takt_tfl_i32(c, 0, 0),
                     takt_tfl_u8(c, 1, 0),
                     takt_dtype_is_float(tx.dtype) ? 2 : 1};
    if (n.rank < 1 || n.filters % n.rank != 0)
        return takt_tfl_refuse(c, "%lld filters of rank %lld", (long long)n.filters,
                               (long long)n.rank);
    const takt_id transposed = takt_transpose(c->g, w, perm, 2);
    return takt_tfl_done(c, takt_dtype_is_float(tx.dtype) ? floats(c, x, transposed, &n)
                                                          : integers(c, x, transposed, &n));
}

const takt_tflite_op takt_tflite_Svdf = {.names = {"SVDF"}, .options = 6, .adapt = adapt};
