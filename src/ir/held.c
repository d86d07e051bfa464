/* held.c - counting the allocated bytes of graphs and tensors, and releasing constants. */
#include "ir/held.h"

#include "ir/dim_table.h"
#include "ir/storage.h"

void takt_tally_tensor(takt_tally *t, const takt_tensor *tensor)
{
    if (tensor->storage != NULL)
        t->bytes += takt_storage_count_once(tensor->storage, t->tick);
}

static void tally_dims(takt_tally *t, takt_dims *d)
{
    if (d == NULL || d->counted == t->tick)
        return;
    d->counted = t->tick;
    t->bytes += sizeof *d + takt_arena_bytes(&d->arena) + d->capacity * sizeof *d->entry +
                d->name_capacity * sizeof *d->name + d->slot_count * sizeof *d->slot +
                d->stack_capacity * sizeof *d->stack + d->assumed_capacity * sizeof *d->assumed;
}

void takt_tally_graph(takt_tally *t, takt_graph *g)
{
    if (g == NULL || g->counted == t->tick)
        return;
    g->counted = t->tick;
    t->bytes += sizeof *g + takt_arena_bytes(&g->arena) + g->capacity * sizeof *g->nodes +
                g->table_size * sizeof *g->table + g->input_capacity * sizeof *g->inputs +
                g->output_capacity * sizeof *g->outputs + g->check_capacity * sizeof *g->checks +
                g->slot_capacity * sizeof *g->slots + g->edge_size * sizeof *g->edges +
                g->tensor_capacity * sizeof *g->tensors + g->child_capacity * sizeof *g->children;
    tally_dims(t, g->dims);
    for (size_t i = 0; i < g->tensor_count; i++)
        takt_tally_tensor(t, g->tensors[i]);
    for (size_t i = 0; i < g->child_count; i++)
        takt_tally_graph(t, g->children[i]); /* depth is limited when a child is added */
}

void takt_graph_strip(takt_graph *g)
{
    for (size_t i = 0; i < g->tensor_count; i++)
        if (takt_tensor_bytes(g->tensors[i]) >= TAKT_STRIP_LEAST)
            takt_tensor_release((takt_tensor *)(uintptr_t)g->tensors[i]); /* in g's own arena */
    for (size_t i = 0; i < g->child_count; i++)
        if (__atomic_load_n(&g->children[i]->references, __ATOMIC_ACQUIRE) == 1)
            takt_graph_strip(g->children[i]);
}
