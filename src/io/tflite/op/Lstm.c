/* Lstm.c - LSTM, UNIDIRECTIONAL_SEQUENCE_LSTM and BIDIRECTIONAL_SEQUENCE_LSTM. */
#include "io/tflite/lstm.h"

/* x [steps, batch, inputs] in rows, and sizes taken from the weights' shapes. */
static takt_id prepared(takt_tfl_call *c, takt_tfl_lstm *l, bool is_time_major)
{
    static const int64_t perm[] = {1, 0, 2};
    takt_id x = takt_tfl_need(c, 0);
    takt_type t = *takt_type_of(c->g, x);
    (void)takt_tfl_need(c, takt_lstm_input(l->w, TAKT_LSTM_F));
    (void)takt_tfl_need(c, takt_lstm_input(l->r, TAKT_LSTM_F));
    const takt_type w = takt_tfl_type(c, takt_lstm_input(l->w, TAKT_LSTM_F)),
                    r = takt_tfl_type(c, takt_lstm_input(l->r, TAKT_LSTM_F));
    if (t.rank == 2) /* one step */
        x = takt_tfl_shape(c, x, (int64_t[]){1, t.dim[0], t.dim[1]}, 3);
    else if (t.rank == 3 && !is_time_major)
        x = takt_transpose(c->g, x, perm, 3);
    if (!takt_tfl_good(c))
        return TAKT_NONE;
    t = *takt_type_of(c->g, x);
    if (t.rank != 3 || w.rank != 2 || r.rank != 2 || w.dim[1] != t.dim[2] || w.dim[0] < 1) {
        (void)takt_tfl_refuse(c, "shapes that do not fit each other");
        return TAKT_NONE;
    }
    l->steps = t.dim[0];
    l->batch = t.dim[1];
    l->inputs = t.dim[2];
    l->cells = w.dim[0];
    l->outputs = r.dim[1];
    l->couples = !takt_tfl_has(c, takt_lstm_input(l->w, TAKT_LSTM_I));
    return takt_tfl_shape(c, x, (int64_t[]){l->steps * l->batch, l->inputs}, 2);
}

/* The results of all steps, in the order of the input. */
static takt_id layer(takt_tfl_call *c, takt_tfl_lstm *l, bool is_time_major)
{
    static const int64_t perm[] = {1, 0, 2};
    const takt_id x = prepared(c, l, is_time_major);
    if (x == TAKT_NONE)
        return x;
    const takt_id y = takt_dtype_is_float(takt_type_of(c->g, x)->dtype)
                          ? takt_tfl_lstm_floats(c, l, x)
                          : takt_tfl_lstm_integers(c, l, x);
    if (y == TAKT_NONE || takt_tfl_type(c, 0).rank == 2)
        return takt_tfl_shape(c, y, (int64_t[]){l->batch, l->outputs}, 2);
    return is_time_major ? y : takt_transpose(c->g, y, perm, 3);
}

static takt_status both(takt_tfl_call *c, takt_tfl_lstm *l)
{
    const bool is_merged = takt_tfl_u8(c, 3, 0) != 0, is_time_major = takt_tfl_u8(c, 4, 1) != 0;
    takt_id y[2];
    l->is_asymmetric = takt_tfl_u8(c, 5, 0) != 0;
    for (size_t i = 39; i < c->op->input_count; i++)
        if (takt_tfl_has(c, i))
            return takt_tfl_refuse(c, "an auxiliary input");
    for (size_t k = 0; k < 2; k++) {
        const size_t at = 17 * k;
        l->w = at + 1;
        l->r = at + 5;
        l->peep = at + 9;
        l->bias = at + 12;
        l->project = at + 16;
        l->h = 35 + 2 * k;
        l->c = 36 + 2 * k;
        l->norm = 0;
        l->is_reverse = k == 1;
        y[k] = layer(c, l, is_time_major);
    }
    if (!takt_tfl_good(c))
        return c->status;
    if (is_merged)
        return takt_tfl_done(c, takt_concat(c->g, y, 2, 2));
    takt_tfl_set(c, 0, y[0]);
    takt_tfl_set(c, 1, y[1]);
    return c->status;
}

static takt_status adapt(takt_tfl_call *c)
{
    enum { ACTIVATION, CELL_CLIP, PROJECT_CLIP, KIND, TIME_MAJOR = 3, ASYMMETRIC };
    takt_tfl_lstm l = {.w = 1,
                       .r = 5,
                       .peep = 9,
                       .bias = 12,
                       .project = 16,
                       .h = 18,
                       .c = 19,
                       .norm = 20,
                       .activation = takt_tfl_u8(c, ACTIVATION, 0),
                       .cell_clip = takt_tfl_f32(c, CELL_CLIP, 0),
                       .project_clip = takt_tfl_f32(c, PROJECT_CLIP, 0)};
    if (!takt_tfl_good(c))
        return c->status;
    if (takt_tfl_is(c, "BIDIRECTIONAL_SEQUENCE_LSTM"))
        return both(c, &l);
    l.is_asymmetric = takt_tfl_u8(c, ASYMMETRIC, 0) != 0;
    if (takt_tfl_is(c, "LSTM")) {
        if (takt_tfl_u8(c, KIND, 0) != 0)
            return takt_tfl_refuse(c, "the basic kind of old models");
        return takt_tfl_done(c, layer(c, &l, true));
    }
    return takt_tfl_done(c, layer(c, &l, takt_tfl_u8(c, TIME_MAJOR, 0) != 0));
}

const takt_tflite_op takt_tflite_Lstm = {
    .names = {"LSTM", "UNIDIRECTIONAL_SEQUENCE_LSTM", "BIDIRECTIONAL_SEQUENCE_LSTM"},
    .adapt = adapt};
