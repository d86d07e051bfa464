/* quantize_returns.c - values between integer layers that are in memory as floats. */
#include "op/ops.h"
#include "shrink/quantize.h"
#include "verify/program.h"

/* Whether a value comes as floats from an integer layer, looking through element-wise ops, which a
 * step computes without memory. */
static bool comes_as_float(const takt_graph *g, takt_id id, int depth)
{
    const takt_node *n = &g->nodes[id];
    if (n->op == &takt_op_integer_conv || n->op == &takt_op_integer_matmul)
        return n->type->dtype == TAKT_F32;
    if ((n->op->traits & TAKT_ELEMENTWISE) == 0 || depth == 0)
        return false;
    for (uint32_t k = 0; k < n->in_count; k++)
        if (n->in[k] != TAKT_NONE && comes_as_float(g, n->in[k], depth - 1))
            return true;
    return false;
}

takt_status takt_quantizing_returns(const takt_model *m, const char *sizes, size_t *count)
{
    const takt_plan_options options = {.sizes = sizes, .checks = "off", .backend = "cpu"};
    takt_graph *g;
    *count = 0;
    TAKT_TRY(takt_program_graph(m, &options, &g));
    for (size_t i = 0; i < g->count; i++)
        if (g->nodes[i].op == &takt_op_quantize && !takt_dtype_is_float(g->nodes[i].type->dtype) &&
            takt_dtype_bits(g->nodes[i].type->dtype) <= 16)
            *count += comes_as_float(g, g->nodes[i].in[0], 8);
    takt_graph_destroy(g);
    return TAKT_OK;
}
