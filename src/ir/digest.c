/* digest.c - one number for the meaning of a graph, independent of value names and numbering. */
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "ir/attr.h"
#include "ir/graph.h"
#include "ir/late.h"

static uint64_t of_attr(const takt_attr_def *def, const takt_attr *attr, uint64_t h)
{
    if (!attr->is_set)
        return takt_hash_word(h, 0);
    if (def->type == TAKT_ATTR_TENSOR) /* by content, wherever it is stored */
        return takt_tensor_hash(attr->tensor, takt_hash_word(h, attr->tensor->type.dtype));
    if (def->type == TAKT_ATTR_GRAPH)
        return takt_hash_word(h, takt_graph_digest(attr->graph));
    return takt_attr_hash(def, attr, h);
}

static uint64_t of_node(const takt_node *n, const uint64_t *digests)
{
    uint64_t h = takt_hash_bytes(n->in_count, n->op->name, strlen(n->op->name));
    for (size_t k = 0; k < n->in_count; k++)
        h = takt_hash_word(h, n->in[k] == TAKT_NONE ? 0 : digests[n->in[k]]);
    const size_t count = takt_op_attr_count(n->op);
    for (size_t k = 0; k < count; k++)
        h = of_attr(&n->op->attrs[k], &n->attr[k], h);
    return h;
}

uint64_t takt_graph_digest(const takt_graph *g)
{
    void *block;
    if (takt_mem_get(g->ctx, g->count * sizeof(uint64_t), "digest", &block) != TAKT_OK)
        return 0;
    uint64_t *digests = block;
    for (size_t i = 0; i < g->count; i++)
        digests[i] = of_node(&g->nodes[i], digests);
    uint64_t h = g->input_count;
    for (size_t i = 0; i < g->output_count; i++) {
        h = takt_hash_bytes(h, g->outputs[i].name, strlen(g->outputs[i].name));
        h = takt_hash_word(h, digests[g->outputs[i].id]);
    }
    for (size_t i = 0; i < g->slot_count; i++) {
        h = takt_hash_bytes(h, g->slots[i].name, strlen(g->slots[i].name));
        h = takt_hash_word(h, g->slots[i].next == TAKT_NONE ? 0 : digests[g->slots[i].next]);
    }
    for (size_t i = 0; i < g->check_count; i++) {
        h = takt_hash_bytes(h, g->checks[i].text, strlen(g->checks[i].text));
        h = takt_hash_word(h, digests[g->checks[i].id]);
    }
    takt_mem_put(g->ctx, block, g->count * sizeof(uint64_t));
    return h;
}
