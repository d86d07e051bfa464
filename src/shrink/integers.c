/* integers.c - layers that have integer weights already. */
#include "shrink/integers.h"

#include "op/ops.h"

static bool is_move(const takt_op *op)
{
    return op == &takt_op_transpose || op == &takt_op_reshape || op == &takt_op_squeeze;
}

static bool has_integer_weights(const takt_graph *g, const takt_node *n)
{
    if (n->op == &takt_op_integer_conv || n->op == &takt_op_integer_matmul ||
        n->op == &takt_op_block_matmul)
        return true;
    if (n->op != &takt_op_conv && n->op != &takt_op_conv_dx && n->op != &takt_op_matmul)
        return false;
    takt_id id = n->in[1];
    while (is_move(g->nodes[id].op))
        id = g->nodes[id].in[0];
    const takt_node *w = &g->nodes[id];
    return (w->op == &takt_op_dequantize || w->op == &takt_op_block_dequantize ||
            w->op == &takt_op_ggml_dequantize) &&
           g->nodes[w->in[0]].op == &takt_op_constant;
}

static bool has_below(const takt_node *n)
{
    for (uint32_t k = 0; k < takt_op_attr_count(n->op); k++)
        if (n->op->attrs[k].type == TAKT_ATTR_GRAPH && n->attr[k].is_set &&
            takt_shrink_has_integers(n->attr[k].graph))
            return true;
    return false;
}

bool takt_shrink_has_integers(const takt_graph *g)
{
    for (size_t i = 0; i < g->count; i++)
        if (has_integer_weights(g, &g->nodes[i]) || has_below(&g->nodes[i]))
            return true;
    return false;
}

takt_status takt_shrink_is_quantized(takt_ctx *ctx)
{
    takt_fail(ctx, TAKT_E_SHRINK_NOTHING,
              "the model is quantised already: no layer has f32 weights, but some have integers");
    return takt_fail_hint(ctx, "start from the f32 model that it was made from, and quantise last; "
                               "`takt convert` writes a quantised model in another format");
}
