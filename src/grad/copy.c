/* copy.c - graphs that contain another graph's nodes, and their new inputs and outputs. */
#include <stdio.h>
#include <string.h>

#include "grad/reverse.h"

takt_status takt_grad_copy(const takt_graph *from, takt_graph *to, takt_id *map)
{
    size_t widest = 0;
    for (size_t i = 0; i < from->count; i++)
        widest = from->nodes[i].in_count > widest ? from->nodes[i].in_count : widest;
    takt_id *in = takt_arena_array(&to->arena, widest, sizeof *in);
    if (in == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < from->count; i++) {
        const takt_node *n = &from->nodes[i];
        if (map[i] != TAKT_NONE)
            continue;
        for (uint32_t k = 0; k < n->in_count; k++)
            in[k] = n->in[k] == TAKT_NONE ? TAKT_NONE : map[n->in[k]];
        map[i] = takt_graph_copy_node(to, n, in);
    }
    to->origin = NULL;
    return to->status;
}

static bool has_input(const takt_graph *g, const char *name)
{
    for (size_t i = 0; i < g->input_count; i++)
        if (strcmp(g->inputs[i].name, name) == 0)
            return true;
    return false;
}

takt_id takt_grad_input(takt_graph *g, const char *stem, const takt_type *type)
{
    char name[48];
    size_t number = g->input_count;
    do
        snprintf(name, sizeof name, "%.16s.%zu", stem, number++);
    while (has_input(g, name));
    return takt_graph_input(g, name, type);
}

void takt_grad_output(takt_graph *g, takt_id id)
{
    char name[32];
    snprintf(name, sizeof name, "out.%zu", g->output_count);
    takt_graph_output(g, name, id);
}
