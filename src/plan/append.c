/* append.c - caches that grow: writes beyond the part in use need no undo.
 *
 * update_slice(cache, new, used) writes at the current end of the cache. If every reader of the
 * result is attention with a length of at most used + the rows of `new`, nobody ever sees the data
 * beyond: `used` is a separate value, and a run that fails leaves it unchanged. The next run then
 * overwrites the same place before anything reads it. */
#include "ir/leaves.h"
#include "op/ops.h"
#include "plan/builder.h"

enum { CACHE = 0, NEW = 1, START = 2 };    /* inputs of update_slice */
enum { KEYS = 1, VALUES = 2, LENGTH = 4 }; /* inputs of attention */

/* The value whose elements these are, all of them or repeated. */
static takt_id source_of(const takt_builder *b, takt_id id)
{
    const takt_graph *g = b->p.graph;
    while (g->nodes[id].op == &takt_op_broadcast || g->nodes[id].op == &takt_op_reshape)
        id = g->nodes[id].in[0];
    return b->root[id];
}

/* A constant of integers, none of them larger than `most`. */
static bool is_at_most(const takt_graph *g, takt_id id, int64_t most)
{
    const takt_node *n = &g->nodes[id];
    size_t count;
    if (n->op != &takt_op_constant || n->type->dtype != TAKT_I64 ||
        !takt_type_count(n->type, &count))
        return false;
    const int64_t *x = takt_tensor_data(n->attr[0].tensor);
    for (size_t i = 0; i < count; i++)
        if (x[i] > most)
            return false;
    return true;
}

/* length <= start + part, by its computation. */
static bool is_bounded(const takt_builder *b, takt_id length, takt_id start, int64_t part)
{
    const takt_graph *g = b->p.graph;
    const takt_id sum = source_of(b, length), from = source_of(b, start);
    const takt_node *n = &g->nodes[sum];
    if (sum == from)
        return true;
    for (uint32_t k = 0; n->op == &takt_op_add && k < 2; k++)
        if (source_of(b, n->in[k]) == from && is_at_most(g, source_of(b, n->in[1 - k]), part))
            return true;
    return false;
}

static bool reads_in_use(const takt_builder *b, const takt_node *reader, takt_id node)
{
    const takt_node *update = &b->p.graph->nodes[node];
    const int64_t part = takt_type_of(b->p.graph, update->in[NEW])->dim[1];
    if (reader->op != &takt_op_attention || reader->in_count <= LENGTH ||
        reader->in[LENGTH] == TAKT_NONE ||
        !is_bounded(b, reader->in[LENGTH], update->in[START], part))
        return false;
    for (uint32_t k = 0; k < reader->in_count; k++)
        if (reader->in[k] != TAKT_NONE && b->root[reader->in[k]] == node &&
            (reader->in[k] != node || (k != KEYS && k != VALUES)))
            return false;
    return true;
}

bool takt_state_is_append(const takt_builder *b, takt_id node)
{
    const takt_graph *g = b->p.graph;
    const takt_node *update = &g->nodes[node];
    if (update->op != &takt_op_update_slice || update->type->rank != 3 ||
        takt_node_int(update, "axis") != 1)
        return false;
    const takt_id old = b->root[update->in[CACHE]];
    for (size_t i = 0; i < g->count; i++)
        for (uint32_t k = 0; b->live[i] && i != node && k < g->nodes[i].in_count; k++) {
            const takt_id in = g->nodes[i].in[k];
            if (in != TAKT_NONE && (b->root[in] == old ||
                                    (b->root[in] == node && !reads_in_use(b, &g->nodes[i], node))))
                return false;
        }
    return true;
}
