/* lstm_integers.c - one step of an 8-bit LSTM, whose cell and gates have 16 bits. */
#include <math.h>

#include "io/tflite/lstm.h"
#include "op/util/integer.h"

/* Multipliers of all columns: weight scale times input scale, to 16 bits of which 3 are whole. */
static bool factors(takt_tfl_call *c, const takt_tfl_lstm *l, size_t first, float scale,
                    takt_id out[2])
{
    const int64_t columns = (TAKT_LSTM_GATES - takt_lstm_first(l)) * l->cells;
    int64_t *m = takt_tfl_get(c, (size_t)columns, sizeof *m),
            *s = takt_tfl_get(c, (size_t)columns, sizeof *s);
    for (int64_t i = 0; m != NULL && s != NULL && i < columns; i++) {
        const int gate = takt_lstm_first(l) + (int)(i / l->cells);
        const takt_tfl_tensor *t = takt_tfl_tensor_in(c, takt_lstm_input(first, gate));
        const float both = takt_tfl_quant_of(c, t).scale * scale;
        const takt_tfl_fixed f = takt_tfl_fixed_of((double)(both * 4096));
        m[i] = f.multiplier;
        s[i] = f.shift;
    }
    if (m == NULL || s == NULL || !takt_tfl_good(c))
        return false;
    out[0] = takt_tfl_make_i(c, TAKT_I32, m, &columns, 1);
    out[1] = takt_tfl_make_i(c, TAKT_I32, s, &columns, 1);
    return takt_tfl_good(c);
}

static takt_id sixteen(takt_tfl_call *c, takt_id x)
{
    return takt_tfl_saturate(c, x, 0, takt_tfl_range_of(TAKT_I16), TAKT_I16);
}

/* a * b / 2^by of 16 bits, halves away from zero, in i32. */
static takt_id scaled(takt_tfl_call *c, takt_id a, takt_id b, int by)
{
    const takt_id wide =
        takt_mul(c->g, takt_tfl_cast(c, a, TAKT_I32), takt_tfl_cast(c, b, TAKT_I32));
    const takt_id twice = takt_mul(c->g, wide, takt_tfl_number(c, TAKT_I32, 2));
    return takt_tfl_rescale(c, twice, (takt_tfl_fixed){1 << 30, -by});
}

/* log2 of the cell's scale, which is a power of two. */
static int cell_power(takt_tfl_call *c, const takt_tfl_lstm *l)
{
    int power = 0;
    const float scale = takt_tfl_quant_of(c, takt_tfl_tensor_in(c, l->c)).scale;
    const double part = frexp((double)scale, &power);
    if (fabs(part - 0.5) > 1e-3 || power - 1 < -15 || power - 1 > -9)
        (void)takt_tfl_refuse(c, "a cell with a scale of %g", (double)scale);
    return power - 1;
}

static takt_id gate(takt_tfl_body *b, const takt_tfl_lstm *l, takt_id all, int k)
{
    takt_tfl_call *c = &b->inner;
    return takt_tfl_gate(c, takt_lstm_gate(c, l, all, k), k == TAKT_LSTM_G, 3);
}

/* The quantisation of the hidden state: that of the fifth intermediate tensor. */
static takt_tfl_quant hidden(takt_tfl_call *c)
{
    if (c->op->between_count < 5 || c->op->between[4] < 0) {
        (void)takt_tfl_refuse(c, "no scale for the hidden state");
        return (takt_tfl_quant){1, 0};
    }
    const takt_tfl_tensor *t = &c->scope->graph->tensors[c->op->between[4]];
    takt_tfl_quant q = {.scale = takt_tfl_scale_at(c, t, 0),
                        .zero = t->zero_count > 0 ? (int32_t)t->zero[0] : 0};
    if (q.zero < -128 || q.zero > 127)
        (void)takt_tfl_refuse(c, "zero point %d", q.zero);
    return q;
}

static takt_id back(takt_tfl_body *b, const takt_tfl_lstm *l)
{
    static const int64_t perm[] = {1, 0};
    takt_tfl_call *c = &b->inner;
    const takt_tfl_quant q = takt_tfl_quant_of(c, takt_tfl_tensor_in(c, l->h));
    takt_id parts[TAKT_LSTM_GATES], scale[2];
    size_t n = 0;
    for (int k = takt_lstm_first(l); k < TAKT_LSTM_GATES; k++)
        parts[n++] = takt_lstm_constant(b, takt_lstm_input(l->r, k));
    if (!takt_tfl_good(c) || !factors(c, l, l->r, q.scale, scale))
        return TAKT_NONE;
    const takt_id r = takt_transpose(c->g, takt_concat(c->g, parts, n, 0), perm, 2);
    const takt_id in[] = {b->h, r, takt_tfl_number(c, TAKT_I8, q.zero)};
    const takt_id sum =
        r == TAKT_NONE ? r : takt_graph_call(c->g, &takt_op_integer_matmul, 3, in, 0, NULL);
    return sum == TAKT_NONE ? sum
                            : takt_graph_call(c->g, &takt_op_rescale, 3,
                                              (takt_id[]){sum, scale[0], scale[1]}, 0, NULL);
}

static void step(takt_tfl_body *b, const takt_tfl_lstm *l)
{
    takt_tfl_call *c = &b->inner;
    takt_graph *g = c->g;
    const int power = cell_power(c, l);
    const takt_tfl_quant q = hidden(c);
    const takt_id all = sixteen(c, takt_add(g, takt_tfl_cast(c, b->x, TAKT_I32), back(b, l)));
    const takt_id f = gate(b, l, all, TAKT_LSTM_F);
    if (f == TAKT_NONE || !takt_tfl_good(c))
        return;
    const takt_id i = l->couples ? takt_sub(g, takt_tfl_number(c, TAKT_I16, 32767), f)
                                 : gate(b, l, all, TAKT_LSTM_I);
    const takt_id kept = scaled(c, f, b->c, 15),
                  fresh = scaled(c, i, gate(b, l, all, TAKT_LSTM_G), 30 + power);
    takt_id cell = sixteen(c, takt_add(g, kept, fresh));
    if (l->cell_clip > 0) {
        const float scale = takt_tfl_quant_of(c, takt_tfl_tensor_in(c, l->c)).scale;
        const float clip = l->cell_clip / scale, most = clip < 32767 ? truncf(clip) : 32767;
        cell = takt_tfl_clip(c, cell, -(double)most, (double)most);
    }
    const takt_id o = gate(b, l, all, TAKT_LSTM_O);
    const takt_id wide =
        takt_mul(g, takt_tfl_cast(c, o, TAKT_I32),
                 takt_tfl_cast(c, takt_tfl_gate(c, cell, true, 15 + power), TAKT_I32));
    const float real = (float)(0x1p-15 / (double)q.scale * 0x1p-15);
    const takt_id h = takt_tfl_rescale(c, wide, takt_tfl_fixed_of((double)real));
    b->c_next = cell;
    b->h_next = takt_tfl_saturate(c, h, q.zero, takt_tfl_range_of(TAKT_I8), TAKT_I8);
}

takt_id takt_tfl_lstm_integers(takt_tfl_call *c, takt_tfl_lstm *l, takt_id x)
{
    const takt_tfl_quant q = takt_tfl_quant_of(c, takt_tfl_tensor_in(c, 0));
    takt_id biases[TAKT_LSTM_GATES], scale[2];
    size_t n = 0;
    if (takt_tfl_has(c, l->project) || takt_tfl_has(c, l->peep + 2) ||
        (l->norm != 0 && takt_tfl_has(c, takt_lstm_input(l->norm, TAKT_LSTM_F)))) {
        (void)takt_tfl_refuse(c, "integers with a projection, peepholes or layer norm");
        return TAKT_NONE;
    }
    const takt_id w = takt_lstm_weights(c, l, l->w);
    for (int k = takt_lstm_first(l); k < TAKT_LSTM_GATES; k++)
        biases[n++] = takt_tfl_need(c, takt_lstm_input(l->bias, k));
    if (!takt_tfl_good(c) || !factors(c, l, l->w, q.scale, scale))
        return TAKT_NONE;
    const takt_id in[] = {x, w, takt_tfl_number(c, TAKT_I8, q.zero), TAKT_NONE,
                          takt_concat(c->g, biases, n, 0)};
    const takt_id sum = takt_graph_call(c->g, &takt_op_integer_matmul, 5, in, 0, NULL);
    if (sum == TAKT_NONE)
        return sum;
    const takt_id all = sixteen(c, takt_graph_call(c->g, &takt_op_rescale, 3,
                                                   (takt_id[]){sum, scale[0], scale[1]}, 0, NULL));
    const int64_t width = (int64_t)n * l->cells;
    return takt_tfl_recur(c, l, takt_tfl_shape(c, all, (int64_t[]){l->steps, l->batch, width}, 3),
                          TAKT_NONE, step);
}
