/* conv_grad.c - the records of gradients of convolutions with respect to x and w. */
#include "op/util/check.h"
#include "op/util/conv.h"

takt_conv_result takt_conv_result_of(const takt_op *op)
{
    return op == &takt_op_conv_dx || op == &takt_op_winograd_conv_dx   ? TAKT_CONV_DX
           : op == &takt_op_conv_dw || op == &takt_op_winograd_conv_dw ? TAKT_CONV_DW
                                                                       : TAKT_CONV_Y;
}

/* ---- by x ---- */

takt_status takt_conv_dx_infer(takt_infer *in)
{
    takt_type *x = &in->out[0], y;
    x->dtype = in->type[0]->dtype;
    TAKT_TRY(takt_check_set_shape(in, TAKT_CONV_SHAPE, x));
    TAKT_TRY(takt_conv_infer(in, x, in->type[1], &y));
    return takt_check_shape(in, 0, &y, "conv of this shape with w");
}

takt_status takt_conv_dx_eval(takt_eval *e)
{
    takt_conv_eval(e, TAKT_CONV_DX, &e->out[0], &e->in[1], &e->in[0], &e->out[0]);
    return TAKT_OK;
}

/* t is a gradient of x's shape: the form is linear in dy and in w. */
void takt_conv_dx_grad(takt_graph *g, takt_id id, const takt_id *t, takt_id *dx)
{
    const takt_node n = *takt_node_at(g, id);
    dx[0] = takt_conv_make(g, &n, t[0], n.in[1]);
    dx[1] = takt_conv_make_dw(g, &n, t[0], n.in[0], takt_type_of(g, n.in[1]));
}

void takt_conv_dx_cost(const takt_graph *g, const takt_node *n, takt_cost *cost)
{
    takt_conv_cost(g, n, takt_type_of(g, n->in[0]), takt_type_of(g, n->in[1]), cost);
}

/* ---- by w ---- */

takt_status takt_conv_dw_infer(takt_infer *in)
{
    takt_type *w = &in->out[0], y;
    w->dtype = in->type[0]->dtype;
    TAKT_TRY(takt_check_set_shape(in, TAKT_CONV_SHAPE, w));
    TAKT_TRY(takt_conv_infer(in, in->type[0], w, &y));
    return takt_check_shape(in, 1, &y, "conv of x with this shape");
}

takt_status takt_conv_dw_eval(takt_eval *e)
{
    takt_conv_eval(e, TAKT_CONV_DW, &e->in[0], &e->out[0], &e->in[1], &e->out[0]);
    return TAKT_OK;
}

/* t is a gradient of w's shape: the form is linear in x and in dy. */
void takt_conv_dw_grad(takt_graph *g, takt_id id, const takt_id *t, takt_id *dx)
{
    const takt_node n = *takt_node_at(g, id);
    dx[0] = takt_conv_make_dx(g, &n, n.in[1], t[0], takt_type_of(g, n.in[0]));
    dx[1] = takt_conv_make(g, &n, n.in[0], t[0]);
}

void takt_conv_dw_cost(const takt_graph *g, const takt_node *n, takt_cost *cost)
{
    takt_conv_cost(g, n, takt_type_of(g, n->in[1]), &n->type[0], cost);
}
