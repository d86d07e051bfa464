/* bounds.c - bounds of sizes that a run finds, from the nodes that read values of these sizes. */
#include "io/onnx/import.h"
#include "op/util/length.h"

/* The index is nowhere longer than x but along the axis. */
static void read_gather(const takt_graph *g, const takt_node *n, int64_t *most)
{
    const takt_type *x = takt_type_of(g, n->in[0]), *index = takt_type_of(g, n->in[1]);
    const int64_t given = n->attr[0].i64, axis = given < 0 ? given + x->rank : given;
    size_t name;
    for (int d = 0; d < x->rank && d < index->rank; d++)
        if (d != axis && takt_dim_is_number(x->dim[d]) &&
            takt_dim_is_name(g->dims, index->dim[d], &name) && x->dim[d] < most[name])
            most[name] = x->dim[d];
}

takt_status takt_import_bounds(takt_import *im)
{
    takt_graph *g = im->main->g;
    const size_t count = takt_dims_name_count(g->dims);
    int64_t *most = takt_arena_array(&im->arena, count + 1, sizeof *most);
    if (most == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < count; i++)
        most[i] = TAKT_LENGTH_OPEN;
    for (size_t i = 0; i < g->count; i++)
        if (g->nodes[i].op == &takt_op_gather_elements)
            read_gather(g, &g->nodes[i], most);
    for (size_t i = 0; i < g->count; i++) {
        takt_node *n = &g->nodes[i];
        size_t name;
        for (uint32_t k = 0; n->op == &takt_op_length && k < n->attr[TAKT_LENGTH_NAMES].count;
             k++) {
            takt_dim *bounds = (takt_dim *)(uintptr_t)n->attr[TAKT_LENGTH_BOUNDS].dims;
            takt_dim *tops = (takt_dim *)(uintptr_t)n->attr[TAKT_LENGTH_TOPS].dims;
            if (takt_length_names(g, n, k, &name) && bounds[k] == TAKT_LENGTH_OPEN &&
                most[name] != TAKT_LENGTH_OPEN)
                bounds[k] = tops[k] = most[name];
        }
    }
    return TAKT_OK;
}
