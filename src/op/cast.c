/* cast.c - conversion of the element type.
 *
 * Between floats: rounded half-even; f8 saturates or overflows as requested. Float to integer:
 * truncates and saturates, NaN gives 0. Integer to integer: wraps; to float: rounded once. To bool:
 * not zero.
 */
#include "base/half.h"
#include "op/ops.h"
#include "op/util/bound.h"
#include "op/util/stops.h"

enum { DTYPE, SATURATE };

static takt_status infer(takt_infer *in)
{
    in->out[0] = *in->type[0];
    in->out[0].dtype = in->attr[DTYPE].dtype;
    return TAKT_OK;
}

static double through_f8(takt_f8_kind kind, double value, bool saturate)
{
    return takt_f8_to_f64(kind, takt_f8_from_f64(kind, value, saturate));
}

static double float_to_float(takt_dtype to, double value, bool saturate)
{
    switch (to) {
    case TAKT_F8E4M3FN: return through_f8(TAKT_E4M3FN, value, saturate);
    case TAKT_F8E4M3FNUZ: return through_f8(TAKT_E4M3FNUZ, value, saturate);
    case TAKT_F8E5M2: return through_f8(TAKT_E5M2, value, saturate);
    case TAKT_F8E5M2FNUZ: return through_f8(TAKT_E5M2FNUZ, value, saturate);
    default: return takt_dtype_round(to, value);
    }
}

static int64_t float_to_int(takt_dtype to, double value)
{
    return to == TAKT_BOOL ? value != 0 : takt_dtype_from_double(to, value);
}

/* Bits that a double has no room for become one, so that a narrower float is rounded once. */
static double int_to_double(takt_dtype from, takt_dtype to, int64_t value)
{
    const bool is_negative = from != TAKT_U64 && value < 0;
    const uint64_t low = 0x7ff, size = is_negative ? 0 - (uint64_t)value : (uint64_t)value;
    if (to == TAKT_F64 || size >> 53 == 0)
        return takt_dtype_to_double(from, value);
    const double kept = (double)((size & ~low) | ((size & low) != 0 ? low + 1 : 0));
    return is_negative ? -kept : kept;
}

static takt_status eval(takt_eval *e)
{
    const takt_array *x = &e->in[0];
    takt_array *out = &e->out[0];
    const bool saturate = e->attr[SATURATE].boolean;
    for (size_t i = 0; i < out->count && !takt_eval_stops(e, 1); i++) {
        if (out->f != NULL) {
            const double value =
                x->f != NULL ? x->f[i] : int_to_double(x->dtype, out->dtype, x->i[i]);
            out->f[i] = float_to_float(out->dtype, value, saturate);
        } else {
            out->i[i] = x->f != NULL ? float_to_int(out->dtype, x->f[i])
                                     : takt_dtype_wrap(out->dtype, x->i[i]);
        }
    }
    return TAKT_OK;
}

/* Between floats it is the identity up to rounding; integers have no gradient. */
static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_dtype from = takt_type_of(g, takt_node_at(g, id)->in[0])->dtype;
    if (takt_dtype_is_float(from))
        dx[0] = takt_cast(g, dy[0], from);
}

/* Rounding keeps order, so between floats, and from integers to floats, the ends are converted. */
static void bound_float(takt_bounding *b, takt_range x)
{
    if (b->is_real && takt_dtype_is_float(takt_type_of(b->model, b->node->in[0])->dtype)) {
        takt_bound_keep(b, 0, x.lo, x.hi);
        return;
    }
    takt_bound_keep(b, 0, takt_bound_call(b, &x.lo, 0), takt_bound_call(b, &x.hi, 0));
}

static void bound_int(takt_bounding *b, takt_range x, bool from_float)
{
    takt_graph *g = b->g;
    double least, greatest;
    takt_bound_limits(b->node->attr[DTYPE].dtype, &least, &greatest);
    if (!from_float) {
        takt_bound_set(b, 0, x.lo, x.hi, 0, TAKT_NONE); /* wraps */
        return;
    }
    const takt_id unknown = takt_bound_unknown(b, x);
    takt_bound_keep(
        b, 0, takt_select(g, unknown, takt_bound_number(b, least), takt_bound_call(b, &x.lo, 0)),
        takt_select(g, unknown, takt_bound_number(b, greatest), takt_bound_call(b, &x.hi, 0)));
}

static void bound(takt_bounding *b)
{
    takt_graph *g = b->g;
    const takt_dtype to = b->node->attr[DTYPE].dtype;
    const takt_range x = takt_bound_wide(b, 0);
    const bool from_float = takt_dtype_is_float(takt_type_of(b->model, b->node->in[0])->dtype);
    if (takt_dtype_is_float(to)) {
        bound_float(b, x);
    } else if (to == TAKT_BOOL) {
        const takt_id zero = takt_bound_number(b, 0);
        const takt_id surely = takt_binary(g, &takt_op_or, takt_binary(g, &takt_op_lt, zero, x.lo),
                                           takt_binary(g, &takt_op_lt, x.hi, zero));
        const takt_id never = takt_binary(g, &takt_op_and, takt_binary(g, &takt_op_eq, x.lo, zero),
                                          takt_binary(g, &takt_op_eq, x.hi, zero));
        takt_bound_keep(b, 0, takt_cast(g, surely, TAKT_F64),
                        takt_cast(g, takt_unary(g, &takt_op_not, never), TAKT_F64));
    } else {
        bound_int(b, x, from_float);
    }
}

const takt_op takt_op_cast = {
    .name = "cast",
    .summary = "x converted to another element type",
    .onnx = {{"Cast", 6, 0}},
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .attrs = {[DTYPE] = {.name = "dtype",
                         .type = TAKT_ATTR_DTYPE,
                         .is_required = true,
                         .onnx = "to",
                         .summary = "the type to convert to"},
              [SATURATE] = {.name = "saturate",
                            .type = TAKT_ATTR_BOOL,
                            .fallback.boolean = true,
                            .summary = "f8: too large becomes the largest, not infinity or NaN"}},
    .traits = TAKT_ELEMENTWISE | TAKT_PRIMITIVE,
    .dtypes = TAKT_ANY,
    .infer = infer,
    .eval = eval,
    .grad = grad,
    .bound = bound,
    .affine = 1,
    .samples = {"cast(f32[2, 3], dtype=f16)", "cast(f32[5] in (-300, 300), dtype=i8)",
                "cast(i32[4], dtype=f64)", "cast(bool[2, 2], dtype=f32)",
                "cast(f32[6], dtype=bool)", "cast(i64[3] in (-300, 300), dtype=u8)",
                "cast(f32[8] in (-600, 600), dtype=f8e4m3fn)",
                "cast(f32[8] in (-600, 600), dtype=f8e5m2, saturate=false)",
                "cast(f64[], dtype=bf16)"},
};
