/* one_hot.c - 1 at the index, 0 elsewhere, along a new axis.
 *
 * An index outside the depth gives zeros only, as in ONNX; negative ones count from the end.
 */
#include "op/util/check.h"
#include "op/util/index.h"
#include "op/util/make.h"
#include "op/util/stops.h"

enum { DEPTH, AXIS, DTYPE };

static takt_status infer(takt_infer *in)
{
    const takt_type *x = in->type[0];
    takt_type *out = &in->out[0];
    int axis = 0;
    TAKT_TRY(takt_check_index(in, 0));
    TAKT_TRY(takt_infer_rank(in, 0, 0, TAKT_MAX_RANK - 1));
    TAKT_TRY(takt_check_range(in, DEPTH, 0, TAKT_CHECK_BIG));
    TAKT_TRY(takt_check_axis(in, in->attr[AXIS].i64, x->rank + 1, &axis));
    if ((TAKT_COMPUTE & TAKT_IN(in->attr[DTYPE].dtype)) == 0)
        return takt_fail(in->ctx, TAKT_E_DTYPE,
                         "one_hot: dtype must be a type of computation, "
                         "got %s",
                         takt_dtype_name(in->attr[DTYPE].dtype));
    out->dtype = in->attr[DTYPE].dtype;
    out->rank = x->rank + 1;
    for (int i = 0, from = 0; i < out->rank; i++)
        out->dim[i] = i == axis ? in->attr[DEPTH].i64 : x->dim[from++];
    return TAKT_OK;
}

static takt_status eval(takt_eval *e)
{
    takt_array *out = &e->out[0];
    const int64_t given = e->attr[AXIS].i64, depth = e->attr[DEPTH].i64;
    const int axis = (int)(given < 0 ? given + out->rank : given);
    const size_t inner = takt_index_span(out, axis + 1, out->rank);
    for (size_t i = 0; i < e->in[0].count && !takt_eval_stops(e, 1); i++) {
        const int64_t value = e->in[0].i[i];
        if (value < -depth || value >= depth)
            continue;
        const size_t row = (size_t)(value < 0 ? value + depth : value);
        const size_t to = (i / inner * (size_t)depth + row) * inner + i % inner;
        if (takt_dtype_is_float(out->dtype))
            out->f[to] = 1;
        else
            out->i[to] = 1;
    }
    return TAKT_OK;
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    const takt_type *t = &n->type[0];
    const int64_t given = n->attr[AXIS].i64;
    const int axis = (int)(given < 0 ? given + t->rank : given);
    takt_type thin = *t;
    thin.dim[axis] = 1;
    takt_type line = *t;
    for (int i = 0; i < line.rank; i++)
        line.dim[i] = i == axis ? t->dim[axis] : 1;
    const takt_id x =
        takt_cast(g, takt_reshape(g, n->in[0], thin.dim, (size_t)thin.rank), TAKT_I64);
    const takt_id is_negative = takt_binary(g, &takt_op_lt, x, takt_scalar_i64(g, 0));
    const takt_id wrapped = takt_add(g, x, takt_scalar_i64(g, n->attr[DEPTH].i64));
    const takt_id index = takt_select(g, is_negative, wrapped, x);
    const takt_id rows = takt_make_iota(g, line.dim, line.rank, axis);
    out[0] = takt_cast(g, takt_binary(g, &takt_op_eq, index, rows), t->dtype);
}

const takt_op takt_op_one_hot = {
    .name = "one_hot",
    .summary = "1 where the index is, 0 elsewhere, along a new axis",
    .in_min = 1,
    .in_max = 1,
    .in_names = {"index"},
    .attrs = {[DEPTH] = {.name = "depth",
                         .type = TAKT_ATTR_I64,
                         .is_required = true,
                         .summary = "size of the new axis"},
              [AXIS] = {.name = "axis",
                        .type = TAKT_ATTR_I64,
                        .fallback.i64 = -1,
                        .summary = "where the new axis is in the result"},
              [DTYPE] = {.name = "dtype",
                         .type = TAKT_ATTR_DTYPE,
                         .fallback.dtype = TAKT_F32,
                         .summary = "element type of the result"}},
    .dtypes = TAKT_IN(TAKT_I32) | TAKT_IN(TAKT_I64),
    .infer = infer,
    .eval = eval,
    .lower = lower,
    .samples = {"one_hot(i64[4] in (-3, 4), depth=3)",
                "one_hot(i32[2, 3] in (0, 4), depth=5, axis=1, dtype=i8)",
                "one_hot(i64[] in (0, 1), depth=2, dtype=bool)"},
};
