/* conv_planes.c - a convolution that reads x with channels first in place, and computes with
 * channels last: the transpose before it, which nothing else reads, is not computed. */
#include "backend/cpu/conv/near.h"
#include "backend/cpu/epilogue.h"

static const char *accepts(const takt_graph *g, takt_id node)
{
    (void)g;
    (void)node;
    return ""; /* only groups with two anchors */
}

/* Channels from the second place to the last. */
static bool moves_channels(const takt_node *n)
{
    if (n->op != &takt_op_transpose)
        return false;
    const takt_attr *perm = takt_node_attr(n, "perm");
    const int rank = n->type->rank;
    if (rank < 3 || perm->count != (uint32_t)rank)
        return false;
    for (int d = 0; d < rank; d++)
        if (perm->i64s[d] != (d == 0 ? 0 : d == rank - 1 ? 1 : d + 1))
            return false;
    return true;
}

static const char *continues(const takt_planner *p, const takt_group *group, takt_id node)
{
    const takt_graph *g = p->graph;
    const takt_node *n = &g->nodes[node];
    if (n->op != &takt_op_conv || !moves_channels(&g->nodes[group->nodes[0]]) ||
        takt_conv_is_depthwise(g, node))
        return "";
    const takt_conv_shape s = takt_conv_shape_of(g, node);
    if (takt_conv_is_pointwise(&s) || p->settings->is_blocked || p->settings->is_fast ||
        !takt_conv_near_fits(p, &s))
        return "the convolution gathers patches of channels";
    if (!takt_conv_near_takes_planes(p, &s))
        return "a transpose and a convolution of channels that lie together take less time";
    if (!p->is_constant[n->in[1]] || g->nodes[n->in[1]].op == &takt_op_cast)
        return "the convolution's weights are not f32 constants";
    return NULL;
}

static takt_status compile(takt_planner *p)
{
    const takt_group *whole = p->group;
    const takt_group conv = {.nodes = whole->nodes + whole->anchor,
                             .count = whole->count - whole->anchor};
    p->group = &conv;
    const takt_status status =
        takt_conv_near_compile(p, p->graph->nodes[whole->nodes[0]].in[0], TAKT_NONE);
    p->group = whole;
    return status;
}

const takt_cpu_kind takt_cpu_conv_planes = {.name = "conv_planes",
                                            .family = TAKT_FAMILY_CONV,
                                            .accepts = accepts,
                                            .absorbs = takt_epilogue_absorbs,
                                            .continues = continues,
                                            .compile = compile};
