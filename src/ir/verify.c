/* verify.c - the rules that every graph keeps; tests check passes against them. */
#include <string.h>

#include "ir/attr.h"
#include "ir/graph.h"
#include "ir/infer.h"
#include "ir/leaves.h"

static takt_status broken(const takt_graph *g, size_t id, const char *rule)
{
    return takt_fail(g->ctx, TAKT_E_VERIFY, "node %zu (%s): %s", id,
                     g->nodes[id].op != NULL ? g->nodes[id].op->name : "no op", rule);
}

static takt_status check_order(const takt_graph *g, size_t id)
{
    const takt_node *n = &g->nodes[id];
    for (size_t k = 0; k < n->in_count; k++) {
        if (n->in[k] == TAKT_NONE) {
            if (k < (size_t)n->op->in_min || n->op->in_max == TAKT_VARIADIC)
                return broken(g, id, "a required input is missing");
        } else if (n->in[k] >= id) {
            return broken(g, id, "an input comes after its user");
        } else if (g->nodes[n->in[k]].out_count != 1 && n->op != &takt_op_get) {
            return broken(g, id, "an input has several results");
        }
    }
    return TAKT_OK;
}

static bool same_types(const takt_graph *g, const takt_node *n, const takt_infer *in)
{
    if (n->out_count != in->out_count)
        return false;
    for (size_t i = 0; i < in->out_count; i++)
        if (!takt_type_same(g->dims, &n->type[i], &in->out[i]))
            return false;
    return true;
}

/* Inference must reproduce the stored types. */
static takt_status check_types(takt_graph *g, size_t id, takt_arena *arena)
{
    const takt_node *n = &g->nodes[id];
    const takt_type **types = takt_arena_array(arena, n->in_count, sizeof *types);
    if (types == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t k = 0; k < n->in_count; k++)
        types[k] = n->in[k] == TAKT_NONE ? NULL : takt_type_of(g, n->in[k]);
    takt_infer in = {.graph = g,
                     .ctx = g->ctx,
                     .dims = g->dims,
                     .op = n->op,
                     .attr = n->attr,
                     .in_count = n->in_count,
                     .in = n->in,
                     .type = types,
                     .out_count = n->op->out_count == 0 ? 1 : (size_t)n->op->out_count};
    TAKT_TRY(n->op->infer != NULL ? n->op->infer(&in) : takt_infer_elementwise(&in));
    return same_types(g, n, &in) ? TAKT_OK : broken(g, id, "its type is not the inferred one");
}

static takt_status check_edges(const takt_graph *g)
{
    for (size_t i = 0; i < g->input_count; i++)
        if (g->inputs[i].id >= g->count || g->nodes[g->inputs[i].id].op != &takt_op_input)
            return takt_fail(g->ctx, TAKT_E_VERIFY, "input %s is not an input node",
                             g->inputs[i].name);
    for (size_t i = 0; i < g->output_count; i++)
        if (g->outputs[i].id >= g->count)
            return takt_fail(g->ctx, TAKT_E_VERIFY, "output %s is not a node", g->outputs[i].name);
    for (size_t i = 0; i < g->slot_count; i++) {
        const takt_slot *s = &g->slots[i];
        if (s->value >= g->count || g->nodes[s->value].op != &takt_op_state)
            return takt_fail(g->ctx, TAKT_E_VERIFY, "slot %s is not a state node", s->name);
        if (s->next != TAKT_NONE && s->next >= g->count)
            return takt_fail(g->ctx, TAKT_E_VERIFY, "slot %s: next value is not a node", s->name);
    }
    for (size_t i = 0; i < g->check_count; i++)
        if (g->checks[i].id >= g->count || takt_type_of(g, g->checks[i].id)->dtype != TAKT_BOOL)
            return takt_fail(g->ctx, TAKT_E_VERIFY, "check %zu is not a bool", i);
    return TAKT_OK;
}

/* Names the node for readers who cannot see node numbers. */
static takt_status at_node(const takt_graph *g, size_t id, takt_status status)
{
    if (status != TAKT_OK && status != TAKT_ERR_MEMORY && g->nodes[id].origin != NULL)
        takt_fail_node(g->ctx, g->nodes[id].origin->name);
    return status;
}

static takt_status verify_once(takt_graph *g)
{
    TAKT_TRY(g->status);
    TAKT_TRY(check_edges(g));
    takt_arena arena;
    takt_arena_init(&arena, g->ctx);
    takt_status status = TAKT_OK;
    for (size_t i = 0; i < g->count && status == TAKT_OK; i++) {
        status = g->nodes[i].op == NULL ? broken(g, i, "it has no op") : check_order(g, i);
        if (status == TAKT_OK)
            status = at_node(g, i, check_types(g, i, &arena));
    }
    takt_arena_deinit(&arena);
    const size_t held = takt_dims_hold(g->dims); /* a branch may never run */
    for (size_t i = 0; i < g->child_count && status == TAKT_OK; i++)
        status = verify_once(g->children[i]); /* depth is limited when a child is added */
    takt_dims_let_go(g->dims, held);
    return status;
}

/* Inference may find that two dimensions are equal, which can affect earlier results: it is
 * repeated until nothing changes. */
takt_status takt_graph_verify(const takt_graph *graph)
{
    enum { ROUNDS = 16 };
    takt_graph *g = (takt_graph *)graph; /* an equality of dimensions does not count as a change */
    for (int i = 0; i < ROUNDS; i++) {
        const size_t known = takt_dims_bound(g->dims);
        TAKT_TRY(takt_dims_blame(g->dims, verify_once(g)));
        if (takt_dims_bound(g->dims) == known)
            return TAKT_OK;
    }
    return takt_fail(g->ctx, TAKT_E_DIM, "the dimensions are not settled after %d rounds", ROUNDS);
}
