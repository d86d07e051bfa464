/* map_match.c - questions about the nodes of an element-wise step. */
#include "backend/cpu/map_match.h"

takt_map_match takt_map_match_of(const takt_planner *p, const takt_map_program *program)
{
    return (takt_map_match){
        .g = p->graph, .program = program, .nodes = p->group->nodes, .count = p->group->count};
}

const takt_node *takt_map_match_node(const takt_map_match *x, takt_id id, const takt_op *op)
{
    for (size_t i = 0; i < x->count; i++)
        if (x->nodes[i] == id)
            return x->g->nodes[id].op == op ? &x->g->nodes[id] : NULL;
    return NULL;
}

const takt_map_operand *takt_map_match_input(const takt_map_match *x, const takt_node *n, int k)
{
    size_t at = 0;
    while (at < x->count && &x->g->nodes[x->nodes[at]] != n)
        at++;
    const takt_map_ref *ref = &x->program->code[at].src[k];
    return ref->source == TAKT_MAP_VIEW ? &x->program->operands[ref->index] : NULL;
}

const takt_map_operand *takt_map_match_operand(const takt_map_match *x, const takt_node *n, int k)
{
    const takt_map_operand *o = takt_map_match_input(x, n, k);
    return o != NULL && !o->widens ? o : NULL;
}

bool takt_map_match_scalar(const takt_map_match *x, const takt_node *n, int k, int *view)
{
    const takt_map_operand *o = takt_map_match_operand(x, n, k);
    if (o == NULL || !o->is_scalar || o->bytes != sizeof(float))
        return false;
    *view = (int)o->view;
    return true;
}

bool takt_map_match_full(const takt_map_match *x, const takt_node *n, int k, int *view)
{
    const takt_map_operand *o = takt_map_match_operand(x, n, k);
    if (o == NULL || !o->is_full || o->bytes != sizeof(float))
        return false;
    *view = (int)o->view;
    return true;
}

takt_id takt_map_match_with(const takt_map_match *x, takt_id id, const takt_op *op, int *view)
{
    const takt_node *n = takt_map_match_node(x, id, op);
    for (int k = 0; n != NULL && k < 2; k++)
        if (takt_map_match_scalar(x, n, k, view))
            return n->in[1 - k];
    return TAKT_NONE;
}
