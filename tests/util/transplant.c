/* transplant.c - copies a node of one graph, with its subgraphs, into another. */
#include "util/transplant.h"

#include "lang/parse.h"

/* Subgraphs are copied, because they share the table of dimensions with the graph around them.
 * Nesting is only as deep as the samples are. */
static takt_graph *clone(takt_graph *like, const takt_graph *from)
{
    takt_graph *to;
    takt_id in[TAKT_SAMPLE_INPUTS];
    if (takt_graph_create(like->ctx, like, &to) != TAKT_OK)
        return NULL;
    takt_id *map = takt_arena_array(&to->arena, from->count, sizeof *map);
    takt_status status = map == NULL ? TAKT_ERR_MEMORY : takt_graph_begin_copy(from, to, map);
    for (size_t i = 0; i < from->count && status == TAKT_OK; i++) {
        const takt_node *n = &from->nodes[i];
        if (map[i] != TAKT_NONE)
            continue;
        for (uint32_t k = 0; k < n->in_count && k < TAKT_SAMPLE_INPUTS; k++)
            in[k] = n->in[k] == TAKT_NONE ? TAKT_NONE : map[n->in[k]];
        map[i] = takt_transplant(to, n, in);
        status = to->status;
    }
    if (status == TAKT_OK)
        status = takt_graph_end_copy(from, to, map);
    takt_graph_fail_if(to, status);
    return to;
}

takt_id takt_transplant(takt_graph *to, const takt_node *n, const takt_id *in)
{
    takt_attr attrs[TAKT_MAX_ATTRS];
    takt_graph *made[TAKT_MAX_ATTRS] = {0};
    const size_t count = takt_op_attr_count(n->op);
    takt_status status = n->in_count <= TAKT_SAMPLE_INPUTS ? TAKT_OK : TAKT_ERR_LIMIT;
    for (size_t i = 0; i < count; i++) {
        attrs[i] = n->attr[i];
        if (n->op->attrs[i].type != TAKT_ATTR_GRAPH || !attrs[i].is_set)
            continue;
        attrs[i].graph = made[i] = clone(to, n->attr[i].graph);
        status = made[i] == NULL ? TAKT_ERR_MEMORY : status == TAKT_OK ? made[i]->status : status;
    }
    takt_graph_fail_if(to, status);
    const takt_id id = takt_graph_append(to, n->op, n->in_count, in, attrs);
    for (size_t i = 0; i < count; i++)
        takt_graph_destroy(made[i]);
    return id;
}
