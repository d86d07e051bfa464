/* bitcast.c - the same bits read as another element type of the same width. */
#include "ir/infer.h"
#include "op/ops.h"
#include "op/util/bound.h"
#include "op/util/stops.h"

enum { DTYPE };

static takt_status infer(takt_infer *in)
{
    const takt_dtype from = in->type[0]->dtype, to = in->attr[DTYPE].dtype;
    if (takt_dtype_bits(from) != takt_dtype_bits(to)) {
        (void)takt_infer_fail(in, TAKT_E_DTYPE, "%s has %d bits and cannot be read as %s of %d",
                              takt_dtype_name(from), takt_dtype_bits(from), takt_dtype_name(to),
                              takt_dtype_bits(to));
        return takt_fail_hint(in->ctx, "cast(x, dtype=%s) converts values", takt_dtype_name(to));
    }
    if (from != to && to == TAKT_BOOL)
        return takt_infer_fail(in, TAKT_E_DTYPE, "a bool is 0 or 1 and no other bits");
    in->out[0] = *in->type[0];
    in->out[0].dtype = to;
    return TAKT_OK;
}

static takt_status eval(takt_eval *e)
{
    const takt_array *x = &e->in[0];
    takt_array *out = &e->out[0];
    for (size_t i = 0; i < out->count && !takt_eval_stops(e, 1); i++) {
        uint64_t bits = 0;
        if (x->f != NULL)
            takt_dtype_put_f(x->dtype, &bits, 0, x->f[i]);
        else
            takt_dtype_put_i(x->dtype, &bits, 0, x->i[i]);
        if (out->f != NULL)
            out->f[i] = takt_dtype_get_f(out->dtype, &bits, 0);
        else
            out->i[i] = takt_dtype_get_i(out->dtype, &bits, 0);
    }
    return TAKT_OK;
}

const takt_op takt_op_bitcast = {
    .name = "bitcast",
    .summary = "the bits of x read as another element type of the same width",
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .attrs = {[DTYPE] = {.name = "dtype",
                         .type = TAKT_ATTR_DTYPE,
                         .is_required = true,
                         .summary = "the type to read the bits as"}},
    .traits = TAKT_VIEW | TAKT_PRIMITIVE,
    .dtypes = TAKT_ANY,
    .infer = infer,
    .eval = eval,
    .no_gradient = "it reinterprets bits",
    .bound = takt_bound_any,
    .samples = {"bitcast(f32[2, 3], dtype=i32)", "bitcast(u16[5] in (0, 9999), dtype=f16)",
                "bitcast(f64[], dtype=u64)", "bitcast(i8[4], dtype=u8)", "bitcast(u4[3], dtype=i4)",
                "bitcast(i2[5], dtype=u2)"},
};
