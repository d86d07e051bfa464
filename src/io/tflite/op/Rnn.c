/* Rnn.c - RNN, UNIDIRECTIONAL_SEQUENCE_RNN and BIDIRECTIONAL_SEQUENCE_RNN of floats. */
#include "io/tflite/lstm.h"

typedef struct rnn {
    size_t w, r, bias, h;
    int activation;
    bool is_reverse, is_time_major;
} rnn;

/* h' = act(x + h R'), where x has the input product and the bias. */
static takt_status fill(takt_tfl_call *c, const rnn *l, const takt_type *x, const takt_type *r,
                        takt_graph *body)
{
    const takt_type h = takt_tfl_type(c, l->h);
    takt_tfl_call inner = *c;
    inner.g = body;
    const takt_id state = takt_graph_input(body, "h", &h), step = takt_graph_input(body, "x", x),
                  weights = takt_graph_input(body, "r", r);
    const takt_id sum = takt_add(body, step, takt_matmul(body, state, weights, false, true));
    const takt_id next = takt_tfl_activate(&inner, sum, l->activation);
    if (next == TAKT_NONE)
        return body->status != TAKT_OK ? body->status : inner.status;
    takt_graph_output(body, "h_next", next);
    takt_graph_output(body, "y", next);
    return body->status;
}

static takt_id layer(takt_tfl_call *c, const rnn *l)
{
    static const int64_t swap[] = {1, 0, 2};
    takt_graph *g = c->g, *body;
    takt_id x = takt_tfl_need(c, 0);
    const takt_id w = takt_tfl_need(c, l->w), r = takt_tfl_need(c, l->r),
                  bias = takt_tfl_need(c, l->bias), h = takt_tfl_need(c, l->h);
    if (!takt_tfl_good(c))
        return TAKT_NONE;
    takt_type t = *takt_type_of(g, x);
    const takt_type tr = *takt_type_of(g, r);
    const bool is_one = t.rank == 2;
    if (!takt_dtype_is_float(tr.dtype) || !takt_dtype_is_float(takt_type_of(g, w)->dtype)) {
        (void)takt_tfl_refuse(c, "weights of bytes");
        return TAKT_NONE;
    }
    if (is_one)
        x = takt_tfl_shape(c, x, (int64_t[]){1, t.dim[0], t.dim[1]}, 3);
    else if (!l->is_time_major)
        x = takt_transpose(g, x, swap, 3);
    const takt_id sums = takt_add(g, takt_matmul(g, x, w, false, true), bias);
    if (sums == TAKT_NONE || takt_type_of(g, sums)->rank != 3)
        return TAKT_NONE;
    takt_type step = *takt_type_of(g, sums);
    step.rank = 2;
    step.dim[0] = step.dim[1];
    step.dim[1] = step.dim[2];
    takt_status status = takt_graph_create(c->ctx, g, &body);
    takt_id y = TAKT_NONE;
    if (status == TAKT_OK)
        status = fill(c, l, &step, &tr, body);
    if (status == TAKT_OK) {
        const takt_named_attr attrs[] = {{"body", takt_attr_graph(body)},
                                         {"carried", takt_attr_i64(1)},
                                         {"sequences", takt_attr_i64(1)},
                                         {"reverse", takt_attr_bool(l->is_reverse)}};
        const takt_id all = takt_graph_call(g, &takt_op_scan, 3, (takt_id[]){h, sums, r}, 4, attrs);
        if (all != TAKT_NONE) {
            takt_tfl_next(c, l->h, takt_graph_get(g, all, 0));
            y = takt_graph_get(g, all, 1);
        }
    } else if (c->status == TAKT_OK) {
        c->status = status;
    }
    takt_graph_destroy(body);
    if (is_one && y != TAKT_NONE)
        return takt_tfl_squeeze(c, y, 0);
    return l->is_time_major || y == TAKT_NONE ? y : takt_transpose(g, y, swap, 3);
}

static takt_status both(takt_tfl_call *c)
{
    rnn l = {.w = 1,
             .r = 2,
             .bias = 3,
             .h = 4,
             .activation = takt_tfl_u8(c, 1, 0),
             .is_time_major = takt_tfl_u8(c, 0, 0) != 0};
    for (size_t i = 9; i < c->op->input_count; i++)
        if (takt_tfl_has(c, i))
            return takt_tfl_refuse(c, "an auxiliary input");
    const takt_id first = layer(c, &l);
    l.w = 5;
    l.r = 6;
    l.bias = 7;
    l.h = 8;
    l.is_reverse = true;
    const takt_id second = layer(c, &l);
    if (!takt_tfl_good(c))
        return c->status;
    if (takt_tfl_u8(c, 2, 0) != 0)
        return takt_tfl_done(c, takt_concat(c->g, (takt_id[]){first, second}, 2, 2));
    takt_tfl_set(c, 0, first);
    takt_tfl_set(c, 1, second);
    return c->status;
}

static takt_status adapt(takt_tfl_call *c)
{
    if (takt_tfl_is(c, "BIDIRECTIONAL_SEQUENCE_RNN"))
        return both(c);
    const bool is_one = takt_tfl_is(c, "RNN");
    const rnn l = {.w = 1,
                   .r = 2,
                   .bias = 3,
                   .h = 4,
                   .activation = takt_tfl_u8(c, is_one ? 0 : 1, 0),
                   .is_time_major = is_one || takt_tfl_u8(c, 0, 0) != 0};
    return takt_tfl_done(c, layer(c, &l));
}

const takt_tflite_op takt_tflite_Rnn = {
    .names = {"RNN", "UNIDIRECTIONAL_SEQUENCE_RNN", "BIDIRECTIONAL_SEQUENCE_RNN"}, .adapt = adapt};
