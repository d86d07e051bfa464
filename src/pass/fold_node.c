/* fold_node.c - evaluates one node of constants while a graph is rewritten. */
#include "pass/fold_node.h"

#include "interp/interp.h"
#include "ir/array.h"
#include "ir/leaves.h"

static takt_status evaluate(takt_rewrite *r, const takt_node *n, takt_array *in,
                            takt_tensor *result)
{
    takt_ctx *ctx = r->out->ctx;
    takt_array out = {0};
    for (uint32_t k = 0; k < n->in_count; k++)
        TAKT_TRY(takt_array_from_tensor(ctx, r->out->nodes[n->in[k]].attr[0].tensor, &in[k]));
    TAKT_TRY(takt_interpret_node(ctx, r->out, n, in, &out));
    const takt_status status = takt_array_to_tensor(ctx, &out, result);
    takt_array_release(ctx, &out);
    return status;
}

takt_id takt_fold_node(takt_rewrite *r, const takt_node *n)
{
    takt_array in[TAKT_FOLD_INPUTS] = {0};
    takt_tensor result = {0};
    const takt_status status = evaluate(r, n, in, &result);
    for (uint32_t k = 0; k < n->in_count; k++)
        takt_array_release(r->out->ctx, &in[k]);
    if (status != TAKT_OK)
        return takt_refuse(r, n, "it cannot be evaluated now");
    const takt_id id = takt_graph_constant(r->out, &result);
    takt_tensor_release(&result);
    return id;
}
