/* Dropout.c - Dropout: the identity in inference; random in training mode. */
#include "op/record/dropout.h"
#include "io/onnx/random.h"
#include "ir/edge_index.h"
#include "op/record/random_uniform.h"

/* Set by a trainer at every step: an input of the model, created at its first use. */
static takt_id given(takt_call *c, const char *name)
{
    const takt_type type = {.dtype = TAKT_U64};
    const size_t known = takt_edge_find(c->g, TAKT_EDGE_INPUT, name);
    return known != SIZE_MAX ? c->g->inputs[known].id : takt_graph_input(c->g, name, &type);
}

/* The same draw as the language's dropout layer: by seed, step and the index of the element in the
 * whole batch. */
static takt_status draw(takt_call *c, takt_id in[3], takt_named_attr *stream)
{
    const takt_id x = takt_onnx_in(c, 0);
    in[0] = given(c, "train.seed");
    in[1] = given(c, "train.step");
    in[2] = given(c, "train.first");
    for (int i = 1; i < takt_type_of(c->g, x)->rank && c->status == TAKT_OK; i++)
        in[2] = takt_mul(c->g, in[2], takt_onnx_cast(c, takt_onnx_size(c, x, i), TAKT_U64));
    *stream =
        (takt_named_attr){"stream", takt_attr_i64((INT64_C(1) << 31) + takt_graph_stream(c->g))};
    return c->g->status;
}

static takt_status drop(takt_call *c, double rate)
{
    takt_id in[4] = {takt_onnx_in(c, 0)};
    takt_named_attr attrs[2];
    if (c->im->source->training)
        TAKT_TRY(draw(c, in + 1, &attrs[0]));
    else
        TAKT_TRY(takt_onnx_random(c, in + 1, &attrs[0]));
    attrs[1] = (takt_named_attr){"rate", takt_attr_f64(rate)};
    const takt_id id = takt_graph_call(c->g, &takt_op_dropout, 4, in, 2, attrs);
    if (id == TAKT_NONE)
        return takt_onnx_done(c, id);
    takt_onnx_set(c, 0, takt_graph_get(c->g, id, 0));
    takt_onnx_set(c, 1, takt_graph_get(c->g, id, 1));
    return c->status;
}

/* Training mode or its rate is known only at run time. Draws and scale are those of the op. */
static takt_status drop_by_values(takt_call *c)
{
    takt_graph *g = c->g;
    const takt_id x = takt_onnx_in(c, 0), trains = takt_onnx_shape(c, takt_onnx_in(c, 2), NULL, 0);
    const takt_type t = *takt_onnx_type(c, 0);
    takt_id in[3];
    takt_named_attr attrs[3];
    TAKT_TRY(takt_onnx_random(c, in, &attrs[0]));
    attrs[1] = (takt_named_attr){"dtype", takt_attr_dtype(TAKT_F32)};
    attrs[2] = (takt_named_attr){"shape", takt_attr_shape(t.dim, (size_t)t.rank)};
    const takt_id drawn = takt_graph_call(g, &takt_op_random_uniform, 3, in, 3, attrs);
    const takt_id rate =
        takt_onnx_has(c, 1)
            ? takt_onnx_shape(c, takt_onnx_cast(c, takt_onnx_in(c, 1), TAKT_F64), NULL, 0)
            : takt_onnx_scalar(c, TAKT_F64, 0.5);
    const takt_id one = takt_onnx_scalar(c, TAKT_F64, 1), zero = takt_onnx_scalar(c, t.dtype, 0);
    takt_id stays = takt_binary(g, &takt_op_ge, drawn, takt_onnx_cast(c, rate, TAKT_F32));
    const takt_id factor = takt_onnx_cast(c, takt_div(g, one, takt_sub(g, one, rate)), t.dtype);
    const takt_id left = takt_select(g, stays, takt_mul(g, x, factor), zero);
    stays = takt_select(g, trains, stays, takt_onnx_scalar(c, TAKT_BOOL, 1));
    takt_onnx_set(c, 0, takt_select(g, trains, left, x));
    takt_onnx_set(c, 1, stays);
    return c->status;
}

static takt_status adapt(takt_call *c)
{
    const takt_id x = takt_onnx_in(c, 0);
    const takt_type *t = takt_onnx_type(c, 0);
    if (c->status != TAKT_OK)
        return c->status;
    if (c->im->source->training && c->g == c->im->main->g) {
        const double rate =
            c->opset < 12 ? takt_onnx_f(c, "ratio", 0.5f) : takt_onnx_known_f(c, 1, 0.5);
        if (c->status != TAKT_OK || rate > 0)
            return c->status != TAKT_OK ? c->status : drop(c, rate);
    }
    const int64_t *mode = takt_onnx_has(c, 2) ? takt_array_one(takt_onnx_peek(c, 2)) : NULL;
    const bool is_off = !takt_onnx_has(c, 2) || (mode != NULL && *mode == 0);
    if (!is_off && c->g == c->im->main->g &&
        (mode == NULL || (takt_onnx_has(c, 1) && takt_onnx_peek(c, 1) == NULL)))
        return drop_by_values(c);
    if (!is_off && takt_onnx_known_i(c, 2, 0) != 0) { /* else the rate may be anything */
        const double rate = takt_onnx_known_f(c, 1, 0.5);
        if (rate != 0)
            return drop(c, rate);
    }
    takt_onnx_set(c, 0, x);
    const takt_id yes = takt_onnx_scalar(c, c->opset >= 10 ? TAKT_BOOL : t->dtype, 1);
    takt_onnx_set(c, 1, takt_broadcast(c->g, yes, t->dim, (size_t)t->rank));
    return c->status;
}

const takt_onnx_op takt_onnx_Dropout = {.names = {"Dropout"}, .adapt = adapt};
