/* reach.c - which sizes a step depends on. */
#include "plan/reach.h"

#include <string.h>

/* Per cell of the size program. */
static takt_names *cells_of(takt_builder *b, const takt_sizes *s)
{
    takt_names *names = takt_arena_array(&b->scratch, takt_sizes_cells(s) + 1, sizeof *names);
    if (names == NULL)
        return NULL;
    for (size_t i = 0; i < s->name_count; i++)
        names[i] = takt_name_bit(i);
    for (size_t i = 0; i < s->count; i++) {
        const takt_size_op *op = &s->code[i];
        names[s->name_count + i] = op->code == TAKT_SIZE_NUMBER ? 0 : names[op->a] | names[op->b];
    }
    return names;
}

static void mark(takt_names *own, const takt_names *cells, const takt_patch *patches, size_t count)
{
    for (size_t i = 0; i < count; i++)
        own[patches[i].node] |= cells[patches[i].cell];
}

/* The sizes of a node itself, and of the values that share its buffer, which determine its
 * offset. */
static takt_names around(const takt_builder *b, const takt_names *own, const takt_names *roots,
                         takt_id id)
{
    return id == TAKT_NONE ? 0 : own[id] | roots[b->root[id]];
}

/* Steps inspect their inputs and the producers of those. */
static takt_names gather(const takt_builder *b, const takt_names *own, const takt_names *roots,
                         takt_id id, int levels)
{
    takt_names all = around(b, own, roots, id);
    for (uint32_t k = 0; id != TAKT_NONE && levels > 0 && k < b->p.graph->nodes[id].in_count; k++)
        all |= gather(b, own, roots, b->p.graph->nodes[id].in[k], levels - 1);
    return all;
}

/* A constant depends on the same sizes as the values that it is computed from. */
static void pass_on(const takt_builder *b, takt_names *own)
{
    const takt_graph *g = b->p.graph;
    for (size_t i = 0; i < g->count; i++)
        for (uint32_t k = 0; b->is_constant[i] && k < g->nodes[i].in_count; k++)
            if (g->nodes[i].in[k] != TAKT_NONE)
                own[i] |= own[g->nodes[i].in[k]];
}

takt_names *takt_reach_of(takt_builder *b, const takt_template *t)
{
    const takt_graph *g = t->graph; /* nodes of a size's graph have fewer inputs, if any */
    const takt_names *cells = cells_of(b, &t->sizes);
    takt_names *own = takt_arena_array(&b->scratch, g->count, sizeof *own);
    takt_names *roots = takt_arena_array(&b->scratch, g->count, sizeof *roots);
    takt_names *reach = takt_arena_array(&b->scratch, g->count, sizeof *reach);
    if (cells == NULL || own == NULL || roots == NULL || reach == NULL)
        return NULL;
    memset(own, 0, g->count * sizeof *own);
    memset(roots, 0, g->count * sizeof *roots);
    mark(own, cells, t->types, t->type_count);
    mark(own, cells, t->shapes, t->shape_count);
    mark(own, cells, t->values, t->value_count);
    for (size_t i = 0; i < t->outer_count; i++)
        own[t->outer[i]] = ~(takt_names)0; /* whatever their subgraphs mention */
    pass_on(b, own);
    for (size_t i = 0; i < g->count; i++)
        roots[b->root[i]] |= own[i];
    for (size_t i = 0; i < g->count; i++)
        reach[i] = gather(b, own, roots, (takt_id)i, 2);
    return reach;
}
