/* squeeze.c - without axes of size 1. */
#include "op/util/check.h"

enum { AXES };

static takt_status infer(takt_infer *in)
{
    const takt_type *x = in->type[0];
    bool mark[TAKT_MAX_RANK] = {0};
    TAKT_TRY(takt_infer_axes(in, &in->attr[AXES], x->rank, mark));
    takt_type *out = &in->out[0];
    out->dtype = x->dtype;
    out->rank = 0;
    for (int i = 0; i < x->rank; i++) {
        bool is_one = x->dim[i] == 1;
        if (mark[i] && !is_one)
            TAKT_TRY(takt_check_agree(in, x->dim[i], 1, &is_one));
        char type[TAKT_TYPE_TEXT];
        if (mark[i] && !is_one)
            return takt_fail(in->ctx, TAKT_E_SHAPE, "squeeze: axis %d of %s is not 1", i,
                             takt_type_text(in->dims, x, type));
        if (!mark[i])
            out->dim[out->rank++] = x->dim[i];
    }
    return TAKT_OK;
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    out[0] = takt_reshape(g, n->in[0], n->type[0].dim, (size_t)n->type[0].rank);
}

const takt_op takt_op_squeeze = {
    .name = "squeeze",
    .summary = "without axes of size 1",
    .onnx = {{"Squeeze", 1, 12}},
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .attrs = {[AXES] = {.name = "axes",
                        .type = TAKT_ATTR_I64S,
                        .is_optional = true,
                        .summary = "the axes to drop; left out: all that are known to be 1"}},
    .traits = TAKT_VIEW,
    .dtypes = TAKT_ANY,
    .infer = infer,
    .lower = lower,
    .samples = {"squeeze(f32[1, 3, 1])", "squeeze(f32[1, 3, 1], axes=[-1])",
                "squeeze(i8[1, 1], axes=[0, 1])"},
};
