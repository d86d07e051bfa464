/* broadcast.c - repeats along axes of size 1 and new leading axes, as NumPy does. */
#include "op/util/bound.h"
#include "op/util/check.h"
#include "op/util/index.h"
#include "op/util/stops.h"

enum { SHAPE };

static takt_status infer(takt_infer *in)
{
    const takt_type *x = in->type[0];
    takt_type *out = &in->out[0];
    out->dtype = x->dtype;
    TAKT_TRY(takt_check_set_shape(in, SHAPE, out));
    const int lead = out->rank - x->rank;
    bool fits = lead >= 0;
    for (int i = 0; fits && i < x->rank; i++)
        if (x->dim[i] != 1)
            TAKT_TRY(takt_check_agree(in, x->dim[i], out->dim[lead + i], &fits));
    if (fits)
        return TAKT_OK;
    char from[TAKT_TYPE_TEXT], to[TAKT_TYPE_TEXT];
    takt_fail(in->ctx, TAKT_E_SHAPE, "broadcast: %s does not broadcast to %s",
              takt_type_text(in->dims, x, from), takt_type_text(in->dims, out, to));
    return takt_fail_hint(in->ctx, "from the right, each dimension must be 1 or the same");
}

static takt_status eval(takt_eval *e)
{
    const takt_array *x = &e->in[0];
    takt_array *out = &e->out[0];
    int64_t to[TAKT_MAX_RANK], from[TAKT_MAX_RANK];
    for (size_t i = 0; i < out->count && !takt_eval_stops(e, 1); i++) {
        takt_index_at(out, i, to);
        for (int d = 0; d < x->rank; d++)
            from[d] = x->dim[d] == 1 ? 0 : to[d + out->rank - x->rank];
        takt_index_move(out, i, x, takt_index_flat(x, from));
    }
    return TAKT_OK;
}

static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    dx[0] = takt_sum_to(g, dy[0], takt_node_at(g, id)->in[0]);
}

const takt_op takt_op_broadcast = {
    .name = "broadcast",
    .summary = "repeated along axes of size 1 and new leading axes",
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .attrs = {[SHAPE] = {.name = "shape",
                         .type = TAKT_ATTR_SHAPE,
                         .is_required = true,
                         .summary = "the dimensions of the result"}},
    .traits = TAKT_PRIMITIVE | TAKT_VIEW,
    .dtypes = TAKT_ANY,
    .infer = infer,
    .eval = eval,
    .grad = grad,
    .bound = takt_bound_exact,
    .affine = 1,
    .samples = {"broadcast(f32[], shape=[2, 3])", "broadcast(f32[3, 1], shape=[2, 3, 4])",
                "broadcast(i64[1, 5], shape=[3, 5])", "broadcast(f64[2], shape=[2])",
                "broadcast(bool[1], shape=[0])"},
};
