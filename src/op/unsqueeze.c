/* unsqueeze.c - adds axes of size 1. */
#include "op/util/check.h"

enum { AXES };

static takt_status infer(takt_infer *in)
{
    const takt_type *x = in->type[0];
    const uint32_t count = in->attr[AXES].count;
    takt_type *out = &in->out[0];
    bool mark[TAKT_MAX_RANK] = {0};
    if (count > (uint32_t)(TAKT_MAX_RANK - x->rank))
        return takt_fail(in->ctx, TAKT_E_RANK,
                         "unsqueeze: rank %d with %u more axes is more than "
                         "%d",
                         x->rank, count, TAKT_MAX_RANK);
    out->dtype = x->dtype;
    out->rank = x->rank + (int)count;
    TAKT_TRY(takt_infer_axes(in, &in->attr[AXES], out->rank, mark));
    for (int i = 0, from = 0; i < out->rank; i++)
        out->dim[i] = mark[i] ? 1 : x->dim[from++];
    return TAKT_OK;
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    out[0] = takt_reshape(g, n->in[0], n->type[0].dim, (size_t)n->type[0].rank);
}

const takt_op takt_op_unsqueeze = {
    .name = "unsqueeze",
    .summary = "with new axes of size 1",
    .onnx = {{"Unsqueeze", 1, 12}},
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .attrs = {[AXES] = {.name = "axes",
                        .type = TAKT_ATTR_I64S,
                        .is_required = true,
                        .summary = "where the new axes are in the result"}},
    .traits = TAKT_VIEW,
    .dtypes = TAKT_ANY,
    .infer = infer,
    .lower = lower,
    .samples = {"unsqueeze(f32[2, 3], axes=[1])", "unsqueeze(f32[2], axes=[0, -1])",
                "unsqueeze(u8[], axes=[0])"},
};
