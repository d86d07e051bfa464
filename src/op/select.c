/* select.c - a where the condition holds, else b; all three broadcast. */
#include "ir/infer.h"
#include "op/util/amp.h"
#include "op/util/bound.h"
#include "op/util/formula.h"
#include "op/util/stops.h"
#include "op/util/walk.h"

static takt_status infer(takt_infer *in)
{
    TAKT_TRY(takt_infer_dtype(in, 0, TAKT_BOOLS, "bool"));
    if (in->type[1]->dtype != in->type[2]->dtype) {
        (void)takt_infer_fail(in, TAKT_E_DTYPE, "both choices must have one element type");
        return takt_fail_hint(in->ctx, "insert cast(b, dtype=%s)",
                              takt_dtype_name(in->type[1]->dtype));
    }
    TAKT_TRY(takt_infer_elementwise(in));
    in->out[0].dtype = in->type[1]->dtype;
    return TAKT_OK;
}

static takt_status eval(takt_eval *e)
{
    const takt_array *a = &e->in[1], *b = &e->in[2];
    takt_array *out = &e->out[0];
    takt_walk at[3];
    for (size_t i = 0; i < 3; i++)
        takt_walk_broadcast(&at[i], &e->in[i], out);
    for (size_t i = 0; i < out->count && !takt_eval_stops(e, 1); i++) {
        const bool first = e->in[0].i[at[0].at] != 0;
        if (out->f != NULL)
            out->f[i] = first ? a->f[at[1].at] : b->f[at[2].at];
        else
            out->i[i] = first ? a->i[at[1].at] : b->i[at[2].at];
        for (size_t k = 0; k < 3; k++)
            takt_walk_next(&at[k]);
    }
    return TAKT_OK;
}

static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_id *in = takt_node_at(g, id)->in;
    const takt_id zero = takt_scalar_like(g, dy[0], 0);
    dx[1] = takt_sum_to(g, takt_select(g, in[0], dy[0], zero), in[1]);
    dx[2] = takt_sum_to(g, takt_select(g, in[0], zero, dy[0]), in[2]);
}

/* If the condition is not known, either may be taken. */
static void bound(takt_bounding *b)
{
    takt_graph *g = b->g;
    const takt_range x = takt_bound_wide(b, 1), y = takt_bound_wide(b, 2);
    if (b->in[0].is_point) {
        const takt_id c = b->in[0].lo;
        takt_bound_keep(b, 0, takt_select(g, c, x.lo, y.lo), takt_select(g, c, x.hi, y.hi));
        return;
    }
    const takt_range c = takt_bound_wide(b, 0);
    const takt_id half = takt_bound_number(b, 0.5);
    const takt_id surely = takt_binary(g, &takt_op_lt, half, c.lo);
    const takt_id maybe = takt_binary(g, &takt_op_lt, half, c.hi);
    const takt_id lo = takt_select(g, maybe, takt_bound_min(b, x.lo, y.lo), y.lo);
    const takt_id hi = takt_select(g, maybe, takt_bound_max(b, x.hi, y.hi), y.hi);
    takt_bound_keep(b, 0, takt_select(g, surely, x.lo, lo), takt_select(g, surely, x.hi, hi));
}

const takt_op takt_op_select = {
    .name = "select",
    .summary = "a where the condition holds, else b",
    .onnx = {{"Where", 9, 0}},
    .in_min = 3,
    .in_max = 3,
    .in_names = {"condition", "a", "b"},
    .traits = TAKT_ELEMENTWISE | TAKT_PRIMITIVE | TAKT_AMP_CHOOSES,
    .dtypes = TAKT_ANY,
    .is_mixed = true,
    .infer = infer,
    .eval = eval,
    .grad = grad,
    .bound = bound,
    .affine = 1U << 1 | 1U << 2,
    .samples = {"select(bool[2, 3], f32[2, 3], f32[2, 3])", "select(bool[4, 1], f64[3], f64[])",
                "select(bool[], i32[5], i32[5])", "select(bool[3], bool[2, 3], bool[3])",
                "select(bool[7], f16[7], f16[1])"},
};
