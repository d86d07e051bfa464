/* reshape.c - the same elements in row-major order under other dimensions. */
#include "op/util/bound.h"
#include "op/util/check.h"
#include "op/util/index.h"

enum { SHAPE };

static takt_status product(takt_infer *in, const takt_type *t, takt_dim *out)
{
    *out = 1;
    for (int i = 0; i < t->rank; i++)
        TAKT_TRY(takt_dim_make(in->dims, TAKT_DIM_MUL, *out, t->dim[i], out));
    return TAKT_OK;
}

static takt_status infer(takt_infer *in)
{
    takt_type *out = &in->out[0];
    takt_dim have = 0, want = 0;
    bool agree = false;
    out->dtype = in->type[0]->dtype;
    TAKT_TRY(takt_check_set_shape(in, SHAPE, out));
    TAKT_TRY(product(in, in->type[0], &have));
    TAKT_TRY(product(in, out, &want));
    TAKT_TRY(takt_check_agree(in, have, want, &agree));
    if (agree)
        return TAKT_OK;
    char from[TAKT_TYPE_TEXT], to[TAKT_TYPE_TEXT];
    takt_fail(in->ctx, TAKT_E_SHAPE, "reshape: %s does not have as many elements as %s",
              takt_type_text(in->dims, in->type[0], from), takt_type_text(in->dims, out, to));
    return takt_fail_hint(in->ctx, "the product of all dimensions must stay the same");
}

static takt_status eval(takt_eval *e)
{
    takt_index_copy(&e->out[0], &e->in[0]);
    return TAKT_OK;
}

static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    dx[0] = takt_reshape_like(g, dy[0], takt_node_at(g, id)->in[0]);
}

const takt_op takt_op_reshape = {
    .name = "reshape",
    .summary = "the same elements under other dimensions",
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .attrs = {[SHAPE] = {.name = "shape",
                         .type = TAKT_ATTR_SHAPE,
                         .is_required = true,
                         .summary = "the new dimensions"}},
    .traits = TAKT_PRIMITIVE | TAKT_VIEW,
    .dtypes = TAKT_ANY,
    .infer = infer,
    .eval = eval,
    .grad = grad,
    .bound = takt_bound_exact,
    .affine = 1,
    .samples = {"reshape(f32[2, 6], shape=[3, 4])", "reshape(f64[1, 1], shape=[])",
                "reshape(i8[5, 0, 3], shape=[0, 7])", "reshape(bool[2, 3], shape=[6])",
                "reshape(bf16[4], shape=[2, 1, 2])"},
};
