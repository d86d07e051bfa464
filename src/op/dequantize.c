/* dequantize.c - (q - zero) * scale. */
#include "op/util/affine.h"
#include "op/util/bound.h"
#include "op/util/check.h"
#include "op/util/make.h"
#include "op/util/stops.h"

enum { AXIS, DTYPE };

static takt_status infer(takt_infer *in)
{
    TAKT_TRY(takt_infer_dtype(in, 0, TAKT_QUANTISED, "an integer"));
    TAKT_TRY(takt_affine_infer(in, in->attr[AXIS].i64, in->type[0]->dtype));
    in->out[0] = *in->type[0];
    in->out[0].dtype = in->attr[DTYPE].is_set ? in->attr[DTYPE].dtype : in->type[1]->dtype;
    if ((TAKT_FLOATS & TAKT_IN(in->out[0].dtype)) == 0)
        return takt_fail(in->ctx, TAKT_E_ATTR, "dequantize: dtype must be a float, got %s",
                         takt_dtype_name(in->out[0].dtype));
    return TAKT_OK;
}

static takt_status eval(takt_eval *e)
{
    const takt_array *q = &e->in[0];
    for (size_t i = 0; i < q->count && !takt_eval_stops(e, 1); i++) {
        const takt_affine a = takt_affine_at(e, e->attr[AXIS].i64, i);
        const double level = takt_dtype_to_double(q->dtype, q->i[i]);
        e->out[0].f[i] = (level - takt_dtype_to_double(q->dtype, a.zero)) * a.scale;
    }
    return TAKT_OK;
}

/* Linear in scale; integers have no gradient. */
static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_node n = *takt_node_at(g, id);
    const takt_type *q = takt_type_of(g, n.in[0]);
    const takt_dtype dtype = takt_type_of(g, n.in[1])->dtype;
    const int64_t axis = n.attr[AXIS].i64;
    takt_id level = takt_cast(g, n.in[0], dtype);
    if (n.in_count > 2 && n.in[2] != TAKT_NONE)
        level = takt_sub(g, level, takt_affine_spread(g, takt_cast(g, n.in[2], dtype), q, axis));
    const takt_id each = takt_mul(g, takt_cast(g, dy[0], dtype), level);
    const takt_id spread = takt_affine_spread(g, n.in[1], q, axis);
    dx[1] = takt_reshape_like(g, takt_sum_to(g, each, spread), n.in[1]);
}

static void cost(const takt_graph *g, const takt_node *n, takt_cost *cost)
{
    cost->flops = 2 * takt_make_count(&n->type[0]);
    cost->bytes = takt_make_bytes(g, n);
}

/* Linear in q; the scale is known. */
static void bound(takt_bounding *b)
{
    takt_graph *g = b->g;
    if (!takt_bound_fixed(b)) {
        takt_bound_any(b);
        return;
    }
    const takt_range q = takt_bound_wide(b, 0);
    const takt_type *type = takt_type_of(b->model, b->node->in[0]);
    const int64_t axis = b->node->attr[AXIS].i64;
    const takt_id scale = takt_affine_spread(g, takt_cast(g, b->in[1].lo, TAKT_F64), type, axis);
    takt_id first = q.lo, last = q.hi;
    if (b->node->in_count > 2 && b->in[2].lo != TAKT_NONE) {
        const takt_id zero = takt_affine_spread(g, takt_cast(g, b->in[2].lo, TAKT_F64), type, axis);
        first = takt_sub(g, first, zero);
        last = takt_sub(g, last, zero);
    }
    first = takt_mul(g, first, scale);
    last = takt_mul(g, last, scale);
    takt_bound_set(b, 0, takt_bound_min(b, first, last), takt_bound_max(b, first, last), 2,
                   TAKT_NONE);
}

const takt_op takt_op_dequantize = {
    .name = "dequantize",
    .summary = "(q - zero) * scale",
    .in_min = 2,
    .in_max = 3,
    .in_names = {"q", "scale", "zero"},
    .attrs = {[AXIS] = {.name = "axis",
                        .type = TAKT_ATTR_I64,
                        .fallback.i64 = 1,
                        .summary = "the axis that scale and zero go along if they have rank 1"},
              [DTYPE] = {.name = "dtype",
                         .type = TAKT_ATTR_DTYPE,
                         .is_optional = true,
                         .summary = "element type of the result; that of scale if left out"}},
    .traits = TAKT_PRIMITIVE,
    .dtypes = TAKT_FLOATS | TAKT_QUANTISED,
    .is_mixed = true,
    .infer = infer,
    .eval = eval,
    .grad = grad,
    .cost = cost,
    .bound = bound,
    .fixed = 6, /* scale and zero */
    .error.ulps = 2,
    .samples = {"dequantize(i8[3, 4] in (-99, 99), f32[] in (0.01, 0.1), i8[] in (-9, 9))",
                "dequantize(u8[2, 3, 2] in (0, 255), f32[3] in (0.01, 0.1), u8[3] in (0, 200))",
                "dequantize(i32[5] in (-999, 999), f32[] in (0.1, 0.2), axis=0)",
                "dequantize(i4[2, 2] in (-8, 7), f64[2] in (0.01, 0.1), axis=-2, dtype=f32)"},
};
