/* lower.c - evaluating an op through the simpler ops it is made of. */
#include <stdio.h>

#include "base/mem.h"
#include "interp/run.h"

static takt_type concrete(const takt_graph *g, takt_id id)
{
    takt_type type = *takt_type_of(g, id);
    for (int i = 0; i < type.rank; i++) {
        takt_dim d;
        if (takt_dim_resolve(g->dims, type.dim[i], &d) == TAKT_OK)
            type.dim[i] = d;
    }
    return type;
}

/* Declares one input per input of the node; a value that is used twice is two inputs. */
static takt_status declare(const takt_graph *g, const takt_node *n, takt_graph *to, takt_id *in)
{
    for (uint32_t i = 0; i < n->in_count; i++) {
        char name[24];
        in[i] = TAKT_NONE;
        if (n->in[i] == TAKT_NONE)
            continue;
        const takt_type type = concrete(g, n->in[i]);
        snprintf(name, sizeof name, "x%u", i);
        in[i] = takt_graph_input(to, name, &type);
    }
    return to->status;
}

static takt_status build(const takt_graph *g, const takt_node *n, takt_graph *to)
{
    takt_id *in = takt_arena_array(&to->arena, n->in_count, sizeof *in);
    takt_id *out = takt_arena_array(&to->arena, n->out_count, sizeof *out);
    if (in == NULL || out == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(declare(g, n, to, in));
    takt_node copy = *n;
    copy.in = in;
    for (uint32_t i = 0; i < n->out_count; i++)
        out[i] = TAKT_NONE;
    n->op->lower(to, &copy, out);
    for (uint32_t i = 0; i < n->out_count && to->status == TAKT_OK; i++) {
        char name[24];
        snprintf(name, sizeof name, "y%u", i);
        takt_graph_output(to, name, out[i]);
    }
    return to->status;
}

static void drop(interp_lowered *l)
{
    takt_graph_destroy(l->graph);
    takt_graph_destroy(l->owner);
    *l = (interp_lowered){0};
}

takt_status takt_interp_lower(interp *it, const takt_graph *g, const takt_node *n,
                              takt_graph **lowered)
{
    for (size_t i = 0; i < LOWERED_COUNT; i++)
        if (it->lowered[i].node == n) {
            *lowered = it->lowered[i].graph;
            takt_graph_retain(*lowered);
            return TAKT_OK;
        }
    TAKT_TRY(takt_graph_create(it->ctx, g, lowered));
    const takt_status status = build(g, n, *lowered);
    if (status != TAKT_OK) {
        takt_graph_destroy(*lowered);
        *lowered = NULL;
        return status;
    }
    interp_lowered *l = &it->lowered[it->next_lowered++ % LOWERED_COUNT];
    drop(l);
    takt_graph *owner = (takt_graph *)(uintptr_t)g; /* only its count of references changes */
    takt_graph_retain(owner);
    takt_graph_retain(*lowered);
    *l = (interp_lowered){.node = n, .owner = owner, .graph = *lowered};
    return TAKT_OK;
}

void takt_interp_forget(interp *it)
{
    for (size_t i = 0; i < LOWERED_COUNT; i++)
        drop(&it->lowered[i]);
    takt_mem_put(it->ctx, it->sizes, it->size_count * sizeof *it->sizes);
    it->sizes = NULL;
    it->size_count = 0;
}
