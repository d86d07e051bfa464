/* conv_first.c - a convolution with channels last and the transpose of its result to channels
 * first: tiles of the result are transposed while they are in cache, and it never exists with
 * channels last as a whole. */
#include "backend/cpu/conv/product.h"

static const char *accepts(const takt_graph *g, takt_id node)
{
    (void)g;
    (void)node;
    return ""; /* only groups with two anchors */
}

/* Channels from the last place to the second. */
static bool moves_channels(const takt_node *n)
{
    const int rank = n->type->rank;
    if (n->op != &takt_op_transpose || rank < 3)
        return false;
    const takt_attr *perm = takt_node_attr(n, "perm");
    if (perm->count != (uint32_t)rank)
        return false;
    for (int d = 0; d < rank; d++)
        if (perm->i64s[d] != (d == 0 ? 0 : d == 1 ? rank - 1 : d - 1))
            return false;
    return true;
}

static const char *continues(const takt_planner *p, const takt_group *group, takt_id node)
{
    const takt_graph *g = p->graph;
    const takt_id conv = group->nodes[0];
    if (!moves_channels(&g->nodes[node]) || g->nodes[conv].op != &takt_op_conv ||
        takt_conv_is_depthwise(g, conv))
        return "";
    const takt_conv_shape s = takt_conv_shape_of(g, conv);
    if (!s.is_nhwc || s.dtype != TAKT_F32 || s.k == 0 || s.batch * s.positions == 0)
        return "";
    if (s.groups > 1 || p->settings->is_fast || p->settings->is_blocked)
        return "the convolution has groups, 16-bit arithmetic, or blocks that were set";
    return NULL;
}

static takt_status compile(takt_planner *p)
{
    const takt_group *whole = p->group;
    const takt_group conv = {.nodes = whole->nodes, .count = whole->anchor};
    p->group = &conv;
    const takt_status status = takt_conv_compile(p, whole->nodes[whole->anchor]);
    p->group = whole;
    return status;
}

const takt_cpu_kind takt_cpu_conv_first = {.name = "conv_first",
                                           .family = TAKT_FAMILY_CONV,
                                           .accepts = accepts,
                                           .continues = continues,
                                           .compile = compile};
