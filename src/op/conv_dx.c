/* conv_dx.c - gradient of conv with respect to x; also what others call transposed convolution. */
#include "op/util/bound.h"
#include "op/util/check.h"
#include "op/util/conv.h"

static takt_status infer(takt_infer *in)
{
    takt_type *x = &in->out[0], y;
    x->dtype = in->type[0]->dtype;
    TAKT_TRY(takt_check_set_shape(in, TAKT_CONV_SHAPE, x));
    TAKT_TRY(takt_conv_infer(in, x, in->type[1], &y));
    return takt_check_shape(in, 0, &y, "conv of this shape with w");
}

static takt_status eval(takt_eval *e)
{
    takt_conv_eval(e, TAKT_CONV_DX, &e->out[0], &e->in[1], &e->in[0], &e->out[0]);
    return TAKT_OK;
}

/* t is a gradient of x's shape: the form is linear in dy and in w. */
static void grad(takt_graph *g, takt_id id, const takt_id *t, takt_id *dx)
{
    const takt_node n = *takt_node_at(g, id);
    dx[0] = takt_conv_make(g, &n, t[0], n.in[1]);
    dx[1] = takt_conv_make_dw(g, &n, t[0], n.in[0], takt_type_of(g, n.in[1]));
}

static void cost(const takt_graph *g, const takt_node *n, takt_cost *cost)
{
    takt_conv_cost(g, n, takt_type_of(g, n->in[0]), takt_type_of(g, n->in[1]), cost);
}

const takt_op takt_op_conv_dx = {
    .name = "conv_dx",
    .summary = "gradient of conv with respect to x: transposed convolution",
    .in_min = 2,
    .in_max = 2,
    .in_names = {"dy", "w"},
    .attrs = {TAKT_CONV_ATTRS, [TAKT_CONV_SHAPE] = {.name = "shape",
                                                    .type = TAKT_ATTR_SHAPE,
                                                    .is_required = true,
                                                    .summary = "the shape of x"}},
    .traits = TAKT_PRIMITIVE | TAKT_CONTRACTS,
    .dtypes = TAKT_NUMBERS,
    .infer = infer,
    .eval = eval,
    .grad = grad,
    .cost = cost,
    .bound = takt_bound_product,
    .error.roundings = takt_roundings_conv_dx,
    .affine = 3,
    .samples = {"conv_dx(f32[2, 4, 5, 6], f32[4, 3, 3, 3], pad=[1, 1, 1, 1], shape=[2, 3, 5, 6])",
                "conv_dx(f32[1, 4, 3, 2], f32[4, 1, 2, 3], stride=[2, 2], groups=2, "
                "shape=[1, 2, 7, 5])",
                "conv_dx(f32[1, 3, 4], f32[4, 2, 3], stride=[2], layout=nhwc, shape=[1, 7, 3])",
                "conv_dx(f64[1, 2, 3], f64[2, 1, 2], dilation=[3], shape=[1, 1, 6])"},
};
