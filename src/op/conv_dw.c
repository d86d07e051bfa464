/* conv_dw.c - gradient of conv with respect to w. */
#include "op/util/bound.h"
#include "op/util/check.h"
#include "op/util/conv.h"

static takt_status infer(takt_infer *in)
{
    takt_type *w = &in->out[0], y;
    w->dtype = in->type[0]->dtype;
    TAKT_TRY(takt_check_set_shape(in, TAKT_CONV_SHAPE, w));
    TAKT_TRY(takt_conv_infer(in, in->type[0], w, &y));
    return takt_check_shape(in, 1, &y, "conv of x with this shape");
}

static takt_status eval(takt_eval *e)
{
    takt_conv_eval(e, TAKT_CONV_DW, &e->in[0], &e->out[0], &e->in[1], &e->out[0]);
    return TAKT_OK;
}

/* t is a gradient of w's shape: the form is linear in x and in dy. */
static void grad(takt_graph *g, takt_id id, const takt_id *t, takt_id *dx)
{
    const takt_node n = *takt_node_at(g, id);
    dx[0] = takt_conv_make_dx(g, &n, n.in[1], t[0], takt_type_of(g, n.in[0]));
    dx[1] = takt_conv_make(g, &n, n.in[0], t[0]);
}

static void cost(const takt_graph *g, const takt_node *n, takt_cost *cost)
{
    takt_conv_cost(g, n, takt_type_of(g, n->in[1]), &n->type[0], cost);
}

const takt_op takt_op_conv_dw = {
    .name = "conv_dw",
    .summary = "gradient of conv with respect to w",
    .in_min = 2,
    .in_max = 2,
    .in_names = {"x", "dy"},
    .attrs = {TAKT_CONV_ATTRS, [TAKT_CONV_SHAPE] = {.name = "shape",
                                                    .type = TAKT_ATTR_SHAPE,
                                                    .is_required = true,
                                                    .summary = "the shape of w"}},
    .traits = TAKT_PRIMITIVE | TAKT_CONTRACTS,
    .dtypes = TAKT_NUMBERS,
    .infer = infer,
    .eval = eval,
    .grad = grad,
    .cost = cost,
    .bound = takt_bound_product,
    .error.roundings = takt_roundings_conv_dw,
    .affine = 3,
    .samples = {"conv_dw(f32[2, 3, 5, 6], f32[2, 4, 5, 6], pad=[1, 1, 1, 1], shape=[4, 3, 3, 3])",
                "conv_dw(f32[2, 7, 5, 2], f32[2, 3, 2, 4], stride=[2, 2], groups=2, layout=nhwc, "
                "shape=[4, 2, 3, 1])",
                "conv_dw(f64[3, 1, 6], f64[3, 2, 3], dilation=[3], shape=[2, 1, 2])"},
};
