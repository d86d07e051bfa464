/* conv_grad.c - gradients of a convolution with respect to its input and to its weights. */
#include "backend/cpu/conv/generic.h"
#include "backend/cpu/conv/grad.h"
#include "backend/cpu/conv/near.h"
#include "backend/cpu/conv/run.h"
#include "op/util/conv.h"

static const char *accepts(const takt_graph *g, takt_id node)
{
    const takt_node *n = &g->nodes[node];
    if (n->op == &takt_op_winograd_conv_dx || n->op == &takt_op_winograd_conv_dw)
        return n->type->dtype == TAKT_F32 ? "" : NULL; /* f32 has its own steps */
    return n->op == &takt_op_conv_dx || n->op == &takt_op_conv_dw ? NULL : "";
}

static takt_status compile(takt_planner *p)
{
    const takt_node *n = &p->graph->nodes[p->group->nodes[0]];
    if (!takt_conv_is_f32(n->type->dtype))
        return takt_conv_generic_compile(p);
    const takt_conv_shape shape = takt_conv_shape_of(p->graph, p->group->nodes[0]);
    if (takt_depthwise_has_grad(&shape))
        return takt_depthwise_grad_compile(p);
    const bool is_dw = takt_conv_result_of(n->op) == TAKT_CONV_DW;
    if (is_dw && takt_conv_dw_is_near(&shape))
        return takt_conv_dw_near_compile(p);
    if (!is_dw && takt_conv_near_dx_fits(p, &shape))
        return takt_conv_near_compile(p, TAKT_NONE, TAKT_NONE);
    if (is_dw && takt_conv_dw_is_few(&shape))
        return takt_conv_dw_few_compile(p);
    if (is_dw)
        return takt_conv_dw_compile(p);
    bool is_few = false;
    TAKT_TRY(takt_conv_dx_few_compile(p, &is_few));
    return is_few ? TAKT_OK : takt_conv_dx_compile(p);
}

const takt_cpu_kind takt_cpu_conv_grad = {
    .name = "conv_grad", .family = TAKT_FAMILY_CONV, .accepts = accepts, .compile = compile};
