/* lstm.c - a scan over time around one step of a recurrent layer. */
#include "io/tflite/lstm.h"

takt_id takt_lstm_gate(takt_tfl_call *c, const takt_tfl_lstm *l, takt_id all, int gate)
{
    const int64_t at = (gate - takt_lstm_first(l)) * l->cells;
    return takt_slice(c->g, all, -1, at, at + l->cells, 1);
}

takt_id takt_lstm_constant(takt_tfl_body *b, size_t i)
{
    takt_tfl_call *c = &b->inner;
    takt_id id = TAKT_NONE;
    if (!takt_tfl_has(c, i) || !takt_tfl_good(c))
        return TAKT_NONE;
    const takt_tfl_tensor *t = takt_tfl_tensor_in(c, i);
    if (!takt_tfl_is_constant(c->im, t)) {
        (void)takt_tfl_refuse(c, "weights that are computed");
        return TAKT_NONE;
    }
    takt_tfl_scope scope = *c->scope;
    scope.g = c->g;
    c->status = takt_tfl_constant(&scope, t, &id);
    return id;
}

takt_id takt_lstm_weights(takt_tfl_call *c, const takt_tfl_lstm *l, size_t first)
{
    static const int64_t perm[] = {1, 0};
    takt_id parts[TAKT_LSTM_GATES];
    size_t n = 0;
    for (int k = takt_lstm_first(l); k < TAKT_LSTM_GATES; k++) {
        const takt_id w = takt_tfl_need(c, takt_lstm_input(first, k));
        if (w != TAKT_NONE && takt_type_of(c->g, w)->rank != 2)
            (void)takt_tfl_refuse(c, "weights that are not a matrix");
        parts[n++] = takt_tfl_as_bytes(c, w);
    }
    if (!takt_tfl_good(c))
        return TAKT_NONE;
    return takt_transpose(c->g, takt_concat(c->g, parts, n, 0), perm, 2);
}

static takt_status fill(takt_tfl_call *c, const takt_tfl_lstm *l, const takt_id given[2],
                        takt_tfl_step *build, takt_graph *body)
{
    takt_type step = *takt_type_of(c->g, given[0]);
    const takt_type h = takt_tfl_type(c, l->h), cell = takt_tfl_type(c, l->c);
    step.rank = 2;
    step.dim[0] = step.dim[1];
    step.dim[1] = step.dim[2];
    takt_tfl_body b = {.inner = *c, .h_next = TAKT_NONE, .c_next = TAKT_NONE};
    b.inner.g = body;
    b.h = takt_graph_input(body, "h", &h);
    b.c = takt_graph_input(body, "c", &cell);
    b.x = takt_graph_input(body, "x", &step);
    b.r = given[1] != TAKT_NONE ? takt_graph_input(body, "r", takt_type_of(c->g, given[1]))
                                : TAKT_NONE;
    build(&b, l);
    if (c->status == TAKT_OK)
        c->status = b.inner.status;
    if (b.h_next == TAKT_NONE || b.c_next == TAKT_NONE)
        return takt_tfl_good(&b.inner) ? takt_tfl_refuse(c, "a step cannot be made")
                                       : b.inner.status;
    takt_graph_output(body, "h_next", b.h_next);
    takt_graph_output(body, "c_next", b.c_next);
    takt_graph_output(body, "y", b.h_next);
    return body->status;
}

takt_id takt_tfl_recur(takt_tfl_call *c, const takt_tfl_lstm *l, takt_id x, takt_id r,
                       takt_tfl_step *build)
{
    takt_graph *body;
    const takt_id h = takt_tfl_need(c, l->h), cell = takt_tfl_need(c, l->c);
    if (x == TAKT_NONE || !takt_tfl_good(c))
        return TAKT_NONE;
    takt_status status = takt_graph_create(c->ctx, c->g, &body);
    if (status != TAKT_OK) {
        c->status = status;
        return TAKT_NONE;
    }
    status = fill(c, l, (takt_id[]){x, r}, build, body);
    takt_id y = TAKT_NONE;
    if (status == TAKT_OK) {
        const takt_named_attr attrs[] = {{"body", takt_attr_graph(body)},
                                         {"carried", takt_attr_i64(2)},
                                         {"sequences", takt_attr_i64(1)},
                                         {"reverse", takt_attr_bool(l->is_reverse)}};
        const takt_id in[] = {h, cell, x, r};
        const takt_id all =
            takt_graph_call(c->g, &takt_op_scan, r != TAKT_NONE ? 4 : 3, in, 4, attrs);
        if (all != TAKT_NONE) {
            takt_tfl_next(c, l->h, takt_graph_get(c->g, all, 0));
            takt_tfl_next(c, l->c, takt_graph_get(c->g, all, 1));
            y = takt_graph_get(c->g, all, 2);
        }
    } else if (c->status == TAKT_OK) {
        c->status = status;
    }
    takt_graph_destroy(body);
    return y;
}
