/* stack.c - joins tensors of one shape along a new axis. */
#include "base/mem.h"
#include "op/util/amp.h"
#include "op/util/check.h"

enum { AXIS };

static takt_status infer(takt_infer *in)
{
    const takt_type *x = in->type[0];
    takt_type *out = &in->out[0];
    int axis = 0;
    if (x->rank == TAKT_MAX_RANK)
        return takt_fail(in->ctx, TAKT_E_RANK, "stack: the result would have more than %d axes",
                         TAKT_MAX_RANK);
    TAKT_TRY(takt_check_axis(in, in->attr[AXIS].i64, x->rank + 1, &axis));
    for (size_t i = 1; i < in->in_count; i++)
        TAKT_TRY(takt_check_shape(in, i, x, "input 0"));
    out->dtype = x->dtype;
    out->rank = x->rank + 1;
    for (int i = 0, from = 0; i < out->rank; i++)
        out->dim[i] = i == axis ? (takt_dim)in->in_count : x->dim[from++];
    return TAKT_OK;
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    takt_type part = n->type[0];
    const int64_t axis = n->attr[AXIS].i64 < 0 ? n->attr[AXIS].i64 + part.rank : n->attr[AXIS].i64;
    takt_id *ids = takt_arena_array(&g->arena, n->in_count, sizeof *ids);
    if (ids == NULL) {
        out[0] = takt_graph_fail(g, TAKT_ERR_MEMORY);
        return;
    }
    part.dim[axis] = 1;
    for (uint32_t i = 0; i < n->in_count; i++)
        ids[i] = takt_reshape(g, n->in[i], part.dim, (size_t)part.rank);
    out[0] = takt_concat(g, ids, n->in_count, axis);
}

const takt_op takt_op_stack = {
    .name = "stack",
    .summary = "tensors of one shape along a new axis",
    .in_min = 1,
    .in_max = TAKT_VARIADIC,
    .attrs = {[AXIS] = {.name = "axis",
                        .type = TAKT_ATTR_I64,
                        .fallback.i64 = 0,
                        .summary = "where the new axis is in the result"}},
    .traits = TAKT_AMP_CHOOSES,
    .dtypes = TAKT_ANY,
    .infer = infer,
    .lower = lower,
    .samples = {"stack(f32[2, 3], f32[2, 3])", "stack(f32[], f32[], f32[])",
                "stack(f64[2, 3], f64[2, 3], axis=-1)", "stack(i8[4])"},
};
