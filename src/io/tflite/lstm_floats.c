/* lstm_floats.c - one step of an LSTM in floats; weights may be bytes. */
#include "io/tflite/lstm.h"
#include "op/util/integer.h"

/* x times a matrix [in, out] of floats; or of bytes, with scales per gate. */
static takt_id product(takt_tfl_call *c, const takt_tfl_lstm *l, takt_id x, takt_id w, size_t first)
{
    takt_graph *g = c->g;
    const int64_t zeroth = 0, columns = takt_type_of(g, w)->dim[1];
    if (x == TAKT_NONE || w == TAKT_NONE)
        return TAKT_NONE;
    if (takt_dtype_is_float(takt_type_of(g, w)->dtype))
        return takt_matmul(g, x, w, false, false);
    double *v = takt_tfl_get(c, (size_t)columns, sizeof *v);
    const takt_tfl_dynamic d = takt_tfl_dynamic_of(c, x, l->is_asymmetric, false);
    if (v == NULL || d.q == TAKT_NONE)
        return TAKT_NONE;
    const int64_t each = columns / (TAKT_LSTM_GATES - takt_lstm_first(l));
    for (int64_t i = 0; i < columns; i++) {
        const int gate = takt_lstm_first(l) + (int)(i / each);
        v[i] =
            (double)takt_tfl_quant_of(c, takt_tfl_tensor_in(c, takt_lstm_input(first, gate))).scale;
    }
    takt_id sum = takt_binary(g, &takt_op_integer_matmul, d.q, w);
    if (d.zero != TAKT_NONE)
        sum = takt_sub(g, sum,
                       takt_mul(g,
                                takt_reduce_over(g, &takt_op_reduce_sum,
                                                 takt_tfl_cast(c, w, TAKT_I32), &zeroth, 1, false),
                                d.zero));
    const takt_id scale = takt_mul(g, d.scale, takt_tfl_make_f(c, TAKT_F32, v, &columns, 1));
    return takt_mul(g, takt_tfl_cast(c, sum, TAKT_F32), scale);
}

/* Peephole, layer norm and bias of one gate. */
static takt_id gate(takt_tfl_body *b, const takt_tfl_lstm *l, takt_id all, int k, takt_id cell)
{
    static const int peeps[] = {0, 1, -1, 2};
    takt_tfl_call *c = &b->inner;
    takt_graph *g = c->g;
    takt_id x = takt_lstm_gate(c, l, all, k);
    if (peeps[k] >= 0 && takt_tfl_has(c, l->peep + (size_t)peeps[k])) {
        takt_id w = takt_lstm_constant(b, l->peep + (size_t)peeps[k]);
        if (w != TAKT_NONE && !takt_dtype_is_float(takt_type_of(g, w)->dtype))
            w = takt_tfl_dequantise(c, w, takt_tfl_tensor_in(c, l->peep + (size_t)peeps[k]));
        x = takt_add(g, x, takt_mul(g, cell, w));
    }
    if (l->norm == 0 || !takt_tfl_has(c, takt_lstm_input(l->norm, k)) || x == TAKT_NONE)
        return x;
    const int64_t last = -1;
    const takt_id mean = takt_reduce_over(g, &takt_op_reduce_mean, x, &last, 1, true);
    const takt_id from = takt_sub(g, x, mean);
    const takt_id spread = takt_reduce_over(g, &takt_op_reduce_mean,
                                            takt_unary(g, &takt_op_square, from), &last, 1, true);
    const takt_id root =
        takt_unary(g, &takt_op_sqrt, takt_add(g, spread, takt_tfl_number(c, TAKT_F32, 1e-8)));
    x = takt_mul(g, takt_div(g, from, root), takt_lstm_constant(b, takt_lstm_input(l->norm, k)));
    return takt_add(g, x, takt_lstm_constant(b, takt_lstm_input(l->bias, k)));
}

static takt_id bounded(takt_tfl_call *c, takt_id x, float clip)
{
    return clip > 0 ? takt_tfl_clip(c, x, -(double)clip, (double)clip) : x;
}

static takt_id projected(takt_tfl_body *b, const takt_tfl_lstm *l, takt_id h)
{
    static const int64_t perm[] = {1, 0};
    takt_tfl_call *c = &b->inner;
    if (!takt_tfl_has(c, l->project))
        return h;
    const takt_tfl_tensor *t = takt_tfl_tensor_in(c, l->project);
    takt_id w = takt_lstm_constant(b, l->project);
    if (w == TAKT_NONE)
        return w;
    w = takt_transpose(c->g, takt_tfl_as_bytes(c, w), perm, 2);
    takt_id y;
    if (takt_dtype_is_float(takt_type_of(c->g, w)->dtype)) {
        y = takt_matmul(c->g, h, w, false, false);
    } else {
        const takt_tfl_dynamic d = takt_tfl_dynamic_of(c, h, false, false);
        const takt_id sum = takt_binary(c->g, &takt_op_integer_matmul, d.q, w);
        const takt_id scale = takt_tfl_number(c, TAKT_F32, (double)takt_tfl_quant_of(c, t).scale);
        y = sum == TAKT_NONE
                ? sum
                : takt_mul(c->g, takt_tfl_cast(c, sum, TAKT_F32), takt_mul(c->g, d.scale, scale));
    }
    const takt_id bias = takt_lstm_constant(b, l->project + 1);
    if (bias != TAKT_NONE && y != TAKT_NONE)
        y = takt_add(c->g, y, bias);
    return bounded(c, y, l->project_clip);
}

/* The recurrent weights inside the body. */
static takt_id recurrent(takt_tfl_body *b, const takt_tfl_lstm *l)
{
    static const int64_t perm[] = {1, 0};
    takt_id parts[TAKT_LSTM_GATES];
    size_t n = 0;
    for (int k = takt_lstm_first(l); k < TAKT_LSTM_GATES; k++)
        parts[n++] = takt_tfl_as_bytes(&b->inner, takt_lstm_constant(b, takt_lstm_input(l->r, k)));
    if (!takt_tfl_good(&b->inner))
        return TAKT_NONE;
    return takt_transpose(b->inner.g, takt_concat(b->inner.g, parts, n, 0), perm, 2);
}

static void step(takt_tfl_body *b, const takt_tfl_lstm *l)
{
    takt_tfl_call *c = &b->inner;
    takt_graph *g = c->g;
    const takt_id back = b->r != TAKT_NONE ? takt_matmul(g, b->h, b->r, false, true)
                                           : product(c, l, b->h, recurrent(b, l), l->r);
    const takt_id all = takt_add(g, b->x, back);
    if (all == TAKT_NONE)
        return;
    const takt_id f = takt_unary(g, &takt_op_sigmoid, gate(b, l, all, TAKT_LSTM_F, b->c));
    if (f == TAKT_NONE)
        return;
    const takt_id i = l->couples
                          ? takt_sub(g, takt_scalar_like(g, f, 1), f)
                          : takt_unary(g, &takt_op_sigmoid, gate(b, l, all, TAKT_LSTM_I, b->c));
    const takt_id fresh = takt_tfl_activate(c, gate(b, l, all, TAKT_LSTM_G, b->c), l->activation);
    const takt_id cell =
        bounded(c, takt_add(g, takt_mul(g, f, b->c), takt_mul(g, i, fresh)), l->cell_clip);
    const takt_id o = takt_unary(g, &takt_op_sigmoid, gate(b, l, all, TAKT_LSTM_O, cell));
    if (cell == TAKT_NONE || o == TAKT_NONE)
        return;
    b->c_next = cell;
    b->h_next = projected(b, l, takt_mul(g, o, takt_tfl_activate(c, cell, l->activation)));
}

/* Float weights are passed to the body: kernels for whole cells look for them there. */
static takt_id outer(takt_tfl_call *c, const takt_tfl_lstm *l)
{
    takt_id parts[TAKT_LSTM_GATES];
    size_t n = 0;
    for (int k = takt_lstm_first(l); k < TAKT_LSTM_GATES; k++) {
        parts[n] = takt_tfl_need(c, takt_lstm_input(l->r, k));
        if (!takt_dtype_is_float(takt_type_of(c->g, parts[n++])->dtype))
            return TAKT_NONE;
    }
    return takt_tfl_good(c) ? takt_concat(c->g, parts, n, 0) : TAKT_NONE;
}

takt_id takt_tfl_lstm_floats(takt_tfl_call *c, takt_tfl_lstm *l, takt_id x)
{
    takt_id biases[TAKT_LSTM_GATES];
    size_t n = 0;
    const takt_id w = takt_lstm_weights(c, l, l->w);
    takt_id sums = product(c, l, x, w, l->w);
    for (int k = takt_lstm_first(l); k < TAKT_LSTM_GATES; k++)
        biases[n++] = takt_tfl_need(c, takt_lstm_input(l->bias, k));
    const bool is_normal = l->norm != 0 && takt_tfl_has(c, takt_lstm_input(l->norm, TAKT_LSTM_F));
    if (!takt_tfl_good(c) || sums == TAKT_NONE)
        return TAKT_NONE;
    if (!is_normal)
        sums = takt_add(c->g, sums, takt_concat(c->g, biases, n, 0));
    const int64_t width = (int64_t)n * l->cells;
    sums = takt_tfl_shape(c, sums, (int64_t[]){l->steps, l->batch, width}, 3);
    return takt_tfl_recur(c, l, sums, outer(c, l), step);
}
