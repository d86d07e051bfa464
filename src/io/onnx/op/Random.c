/* Random.c - operators that draw random numbers: from Takt's stream, not that of another engine.
 *
 * The numbers depend on the attribute `seed` (0 if it is absent), on the node's place in the model,
 * on the element, and on the number of runs of the session, which the state `random.step` counts.
 * So a new session repeats the numbers of another, and its next run draws different ones.
 */
#include <string.h>

#include "io/onnx/adapt.h"
#include "io/onnx/random.h"
#include "op/record/bernoulli.h"
#include "op/record/multinomial.h"
#include "op/record/random_normal.h"
#include "op/record/random_uniform.h"

static takt_id u64(takt_call *c, uint64_t value)
{
    takt_tensor tensor = {0};
    const takt_type type = {.dtype = TAKT_U64};
    takt_id id = TAKT_NONE;
    takt_status status = takt_tensor_create(c->ctx, &type, &tensor);
    if (status == TAKT_OK) {
        memcpy(takt_tensor_data(&tensor), &value, sizeof value);
        id = takt_graph_constant(c->g, &tensor);
    }
    takt_tensor_release(&tensor);
    return status == TAKT_OK ? id : takt_graph_fail(c->g, status);
}

static takt_id step_of(takt_call *c)
{
    static const char name[] = "random.step";
    const takt_slot *slot = takt_graph_find_slot(c->g, name);
    if (slot != NULL)
        return slot->value;
    const takt_type type = {.dtype = TAKT_U64};
    const takt_init zero = {.kind = TAKT_INIT_CONSTANT};
    const takt_id step = takt_graph_slot(c->g, name, &type, &zero, false);
    takt_graph_set_next(c->g, name, takt_add(c->g, step, u64(c, 1)));
    return step;
}

takt_status takt_onnx_random(takt_call *c, takt_id in[3], takt_named_attr *stream)
{
    const takt_pb_attr *a = takt_onnx_attr(c, "seed");
    uint32_t bits = 0;
    if (c->status != TAKT_OK)
        return c->status;
    if (c->g != c->im->main->g)
        return takt_onnx_refuse(c, "random numbers inside a subgraph");
    if (a != NULL && a->type == TAKT_PB_INT)
        bits = (uint32_t)a->i;
    else if (a != NULL)
        memcpy(&bits, &a->f, sizeof bits);
    in[0] = u64(c, bits);
    in[1] = step_of(c);
    in[2] = u64(c, 0);
    *stream = (takt_named_attr){"stream", takt_attr_i64(takt_graph_stream(c->g))};
    return c->g->status;
}

/* RandomUniform, RandomNormal, and their forms that take the shape of an input. */
static takt_status draw(takt_call *c, bool is_normal, bool is_like)
{
    takt_id in[3];
    takt_named_attr attrs[5];
    takt_type type = {.dtype = TAKT_F32};
    TAKT_TRY(takt_onnx_random(c, in, &attrs[0]));
    if (is_like) {
        type = *takt_onnx_type(c, 0);
    } else {
        const takt_ints shape = takt_onnx_ints(c, "shape");
        if (shape.count > TAKT_MAX_RANK)
            return takt_onnx_refuse(c, "%zu axes", shape.count);
        type.rank = (int)shape.count;
        for (size_t i = 0; i < shape.count; i++) {
            type.dim[i] = shape.at[i];
            if (shape.at[i] < 0) /* which would be a name */
                return takt_onnx_refuse(c, "a size is %lld", (long long)shape.at[i]);
        }
    }
    const bool has_float = (TAKT_FLOATS & TAKT_IN(type.dtype)) != 0;
    type.dtype = takt_onnx_to(c, "dtype", has_float ? type.dtype : TAKT_F32);
    attrs[1] = (takt_named_attr){is_normal ? "mean" : "low",
                                 takt_attr_f64(takt_onnx_f(c, is_normal ? "mean" : "low", 0))};
    attrs[2] = (takt_named_attr){is_normal ? "deviation" : "high",
                                 takt_attr_f64(takt_onnx_f(c, is_normal ? "scale" : "high", 1))};
    attrs[3] = (takt_named_attr){"dtype", takt_attr_dtype(type.dtype)};
    attrs[4] = (takt_named_attr){"shape", takt_attr_shape(type.dim, (size_t)type.rank)};
    if (c->status != TAKT_OK)
        return c->status;
    const takt_op *op = is_normal ? &takt_op_random_normal : &takt_op_random_uniform;
    return takt_onnx_done(c, takt_graph_call(c->g, op, 3, in, 5, attrs));
}

static takt_status bernoulli(takt_call *c)
{
    takt_id in[4] = {takt_onnx_in(c, 0)};
    takt_named_attr attrs[2];
    TAKT_TRY(takt_onnx_random(c, in + 1, &attrs[0]));
    const takt_dtype dtype = takt_onnx_to(c, "dtype", takt_onnx_type(c, 0)->dtype);
    attrs[1] = (takt_named_attr){"dtype", takt_attr_dtype(dtype)};
    if (c->status != TAKT_OK)
        return c->status;
    return takt_onnx_done(c, takt_graph_call(c->g, &takt_op_bernoulli, 4, in, 2, attrs));
}

static takt_status multinomial(takt_call *c)
{
    takt_id in[4] = {takt_onnx_in(c, 0)};
    takt_named_attr attrs[3];
    TAKT_TRY(takt_onnx_random(c, in + 1, &attrs[0]));
    attrs[1] = (takt_named_attr){"samples", takt_attr_i64(takt_onnx_i(c, "sample_size", 1))};
    attrs[2] = (takt_named_attr){"dtype", takt_attr_dtype(takt_onnx_to(c, "dtype", TAKT_I32))};
    if (c->status != TAKT_OK)
        return c->status;
    return takt_onnx_done(c, takt_graph_call(c->g, &takt_op_multinomial, 4, in, 3, attrs));
}

static takt_status adapt(takt_call *c)
{
    const takt_span name = c->node->op;
    if (takt_span_is(name, "Bernoulli"))
        return bernoulli(c);
    if (takt_span_is(name, "Multinomial"))
        return multinomial(c);
    const bool is_like =
        takt_span_is(name, "RandomUniformLike") || takt_span_is(name, "RandomNormalLike");
    return draw(c, takt_span_is(name, "RandomNormal") || takt_span_is(name, "RandomNormalLike"),
                is_like);
}

const takt_onnx_op takt_onnx_Random = {.names = {"Bernoulli", "Multinomial", "RandomNormal",
                                                 "RandomNormalLike", "RandomUniform",
                                                 "RandomUniformLike"},
                                       .adapt = adapt};
