/* conv_grad.c - gradients of a convolution with respect to its input and to its weights. */
#include "backend/cpu/conv/generic.h"
#include "backend/cpu/conv/grad.h"
#include "backend/cpu/conv/near.h"
#include "backend/cpu/conv/run.h"
#include "backend/cpu/epilogue.h"
#include "op/util/conv.h"

static const char *accepts(const takt_graph *g, takt_id node)
{
    const takt_node *n = &g->nodes[node];
    if (n->op == &takt_op_winograd_conv_dx || n->op == &takt_op_winograd_conv_dw)
        return n->type->dtype == TAKT_F32 ? "" : NULL; /* f32 has its own steps */
    return n->op == &takt_op_conv_dx || n->op == &takt_op_conv_dw ? NULL : "";
}

/* One value for each channel, or for all. */
static bool is_per_channel(const takt_type *t)
{
    bool is = true;
    for (int d = 0; d + 1 < t->rank; d++)
        is = is && t->dim[d] == 1;
    return is;
}

/* The end of a transposed convolution, whose products have positions in another order than its
 * result: only what is the same at all of them. Of few channels it has a step without ends. */
static const char *absorbs(const takt_graph *g, takt_id anchor, takt_id node)
{
    enum { FEW = 16 };
    const takt_node *n = &g->nodes[node], *conv = &g->nodes[anchor];
    const takt_type *t = conv->type;
    if (conv->op != &takt_op_conv_dx || conv->attr[TAKT_CONV_LAYOUT].i64 != TAKT_NHWC ||
        conv->attr[TAKT_CONV_GROUPS].i64 != 1 || t->dim[t->rank - 1] <= FEW || is_per_channel(t))
        return "it follows a gradient, or one of few channels";
    uint32_t others = 0;
    for (uint32_t k = 0; k < n->in_count; k++)
        others += n->in[k] != TAKT_NONE && is_per_channel(takt_type_of(g, n->in[k]));
    return others + 1 < n->in_count ? "its operand differs from position to position"
                                    : takt_epilogue_absorbs(g, anchor, node);
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

const takt_cpu_kind takt_cpu_conv_grad = {.name = "conv_grad",
                                          .family = TAKT_FAMILY_CONV,
                                          .accepts = accepts,
                                          .absorbs = absorbs,
                                          .compile = compile};
