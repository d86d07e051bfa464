/* get.c - one result of a node that has several. */
#include "ir/graph.h"
#include "ir/leaves.h"

enum { INDEX };

static takt_status infer(takt_infer *in)
{
    const int64_t index = in->attr[INDEX].i64;
    const takt_node *from = takt_node_at(in->graph, in->in[0]);
    if (index < 0 || index >= (int64_t)from->out_count)
        return takt_fail(in->ctx, TAKT_E_ATTR, "get: index is %lld, but %s has %u result%s",
                         (long long)index, from->op->name, from->out_count,
                         from->out_count == 1 ? "" : "s");
    in->out[0] = from->type[index];
    return TAKT_OK;
}

/* The gradient of one result flows straight to that result; reverse mode collects the results'
 * gradients by index and hands them to the node's own rule. */
const takt_op takt_op_get = {
    .name = "get",
    .summary = "one result of a node that has several",
    .in_min = 1,
    .in_max = 1,
    .in_names = {"node"},
    .attrs = {[INDEX] = {.name = "index",
                         .type = TAKT_ATTR_I64,
                         .is_required = true,
                         .summary = "which, from 0"}},
    .traits = TAKT_PRIMITIVE | TAKT_VIEW,
    .dtypes = TAKT_ANY,
    .is_mixed = true,
    .infer = infer,
};
