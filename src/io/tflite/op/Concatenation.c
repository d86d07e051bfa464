/* Concatenation.c - CONCATENATION: quantised parts are requantised to the result's scale. */
#include "io/tflite/quant.h"
#include "io/tflite/replace.h"

/* uint8 times a float factor, as in LiteRT's kernel for old models. */
static takt_id onto_grid(takt_tfl_call *c, takt_id x, const takt_tfl_tensor *from,
                         const takt_tfl_tensor *to)
{
    takt_graph *g = c->g;
    const takt_tfl_quant a = takt_tfl_quant_of(c, from), b = takt_tfl_quant_of(c, to);
    if (!takt_tfl_good(c) || (a.scale == b.scale && a.zero == b.zero))
        return x;
    if (to->type != TAKT_TFL_UINT8) {
        (void)takt_tfl_refuse(c, "parts with other scales than the result");
        return TAKT_NONE;
    }
    const float inverse = 1 / b.scale, scale = a.scale * inverse, shift = (float)-a.zero * scale;
    const takt_id scaled =
        takt_mul(g, takt_tfl_cast(c, x, TAKT_F32), takt_tfl_number(c, TAKT_F32, (double)scale));
    const takt_id real = takt_add(g, scaled, takt_tfl_number(c, TAKT_F32, (double)shift));
    const takt_id level =
        takt_add(g, takt_tfl_round_away(c, real), takt_tfl_number(c, TAKT_F32, b.zero));
    return takt_tfl_cast(c, takt_tfl_clip(c, level, 0, 255), TAKT_U8);
}

enum { AXIS, ACTIVATION };

/* list[:at], an element, list[at + 1:]. */
static takt_status replace(takt_tfl_call *c, const takt_tfl_replaced *what)
{
    const takt_tfl_tensor *to = takt_tfl_tensor_out(c, 0), *before = takt_tfl_tensor_in(c, 0);
    takt_id in[] = {what->list, what->element, what->at};
    const takt_named_attr axis[] = {{"axis", takt_attr_i64(0)}};
    if (takt_tfl_is_quantised(to)) {
        const takt_tfl_quant a = takt_tfl_quant_of(c, before),
                             b = takt_tfl_quant_of(c, takt_tfl_tensor_in(c, 2));
        if (a.scale != b.scale || a.zero != b.zero)
            return takt_tfl_refuse(c, "parts of a list with different scales");
        in[0] = onto_grid(c, in[0], before, to);
        in[1] = onto_grid(c, in[1], takt_tfl_tensor_in(c, 1), to);
    }
    if (!takt_tfl_good(c))
        return c->status;
    return takt_tfl_done(c, takt_graph_call(c->g, &takt_op_update_slice, 3, in, 1, axis));
}

static takt_status adapt(takt_tfl_call *c)
{
    const takt_tfl_tensor *to = takt_tfl_tensor_out(c, 0);
    takt_tfl_replaced what;
    if (takt_tfl_replaces(c, &what))
        return replace(c, &what);
    takt_id *in = takt_tfl_get(c, c->op->input_count, sizeof *in);
    if (in == NULL)
        return c->status;
    if (c->op->input_count == 0)
        return takt_tfl_refuse(c, "no parts");
    for (size_t i = 0; i < c->op->input_count; i++) {
        in[i] = takt_tfl_need(c, i);
        if (takt_tfl_is_quantised(to))
            in[i] = onto_grid(c, in[i], takt_tfl_tensor_in(c, i), to);
    }
    const int rank = takt_type_of(c->g, in[0])->rank;
    const int axis =
        takt_tfl_axis(c, takt_tfl_i32(c, AXIS, 0), rank - (to->type == TAKT_TFL_COMPLEX64));
    if (!takt_tfl_good(c))
        return c->status;
    const takt_id y = takt_concat(c->g, in, c->op->input_count, axis);
    const int activation = takt_tfl_u8(c, ACTIVATION, 0);
    if (takt_dtype_is_float(takt_type_of(c->g, y)->dtype))
        return takt_tfl_done(c, takt_tfl_activate(c, y, activation));
    return activation == 0
               ? takt_tfl_done(c, y)
               : takt_tfl_done(c, takt_tfl_bound(c, y, takt_tfl_activation(c, to, activation)));
}

const takt_tflite_op takt_tflite_Concatenation = {
    .names = {"CONCATENATION"}, .options = 10, .adapt = adapt};
