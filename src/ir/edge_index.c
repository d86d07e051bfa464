/* edge_index.c - finds inputs, outputs and slots of a graph by name, however many there are. */
#include "ir/edge_index.h"

#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

enum { KINDS = 4, FIRST_SIZE = 16 };

static const char *name_of(const takt_graph *g, uint64_t entry)
{
    const size_t position = (size_t)(entry / KINDS);
    switch ((takt_edge_kind)(entry % KINDS)) {
    case TAKT_EDGE_INPUT: return g->inputs[position].name;
    case TAKT_EDGE_OUTPUT: return g->outputs[position].name;
    default: return g->slots[position].name;
    }
}

static size_t home(takt_edge_kind kind, const char *name, size_t size)
{
    return (size_t)takt_hash_bytes((uint64_t)kind, name, strlen(name)) & (size - 1);
}

size_t takt_edge_find(const takt_graph *g, takt_edge_kind kind, const char *name)
{
    if (g->edge_size == 0)
        return SIZE_MAX;
    size_t at = home(kind, name, g->edge_size);
    for (; g->edges[at] != UINT64_MAX; at = (at + 1) & (g->edge_size - 1)) {
        const uint64_t entry = g->edges[at];
        if (entry % KINDS == (uint64_t)kind && strcmp(name_of(g, entry), name) == 0)
            return (size_t)(entry / KINDS);
    }
    return SIZE_MAX;
}

static void insert(const takt_graph *g, uint64_t *table, size_t size, uint64_t entry)
{
    size_t at = home((takt_edge_kind)(entry % KINDS), name_of(g, entry), size);
    while (table[at] != UINT64_MAX)
        at = (at + 1) & (size - 1);
    table[at] = entry;
}

takt_status takt_edge_reserve(takt_graph *g)
{
    const size_t count = g->input_count + g->output_count + g->slot_count;
    if (g->edge_size > 2 * (count + 1))
        return TAKT_OK;
    const size_t size = g->edge_size == 0 ? FIRST_SIZE : 2 * g->edge_size;
    void *block;
    TAKT_TRY(takt_mem_get(g->ctx, size * sizeof *g->edges, "graph edges", &block));
    memset(block, 0xff, size * sizeof *g->edges);
    for (size_t i = 0; i < g->edge_size; i++)
        if (g->edges[i] != UINT64_MAX)
            insert(g, block, size, g->edges[i]);
    takt_mem_put(g->ctx, g->edges, g->edge_size * sizeof *g->edges);
    g->edges = block;
    g->edge_size = size;
    return TAKT_OK;
}

void takt_edge_add(takt_graph *g, takt_edge_kind kind, size_t position)
{
    insert(g, g->edges, g->edge_size, (uint64_t)position * KINDS + (uint64_t)kind);
}
