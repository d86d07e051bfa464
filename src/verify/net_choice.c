/* net_choice.c - `select` by a comparison of the value itself: the form of leaky relus in plans. */
#include "op/ops.h"
#include "verify/net_build.h"

/* The only value of a known array; false if there are several. */
static bool only(const takt_net_value *v, double *value)
{
    if (v == NULL || !v->is_known || v->known.count == 0)
        return false;
    *value = v->known.f[0];
    for (size_t i = 1; i < v->known.count; i++)
        if (v->known.f[i] != *value)
            return false;
    return true;
}

/* x, its negative, or a product of x and one number. */
static bool factor_of(const takt_net_builder *b, takt_id id, takt_id x, double *factor)
{
    const takt_node *n = takt_node_at(b->graph, id);
    *factor = id == x ? 1 : -1;
    if (id == x || (n->op == &takt_op_neg && n->in[0] == x))
        return true;
    if (n->op != &takt_op_mul)
        return false;
    return (n->in[0] == x && only(b->values[n->in[1]], factor)) ||
           (n->in[1] == x && only(b->values[n->in[0]], factor));
}

/* select(0 < x, a x, b x), or with the sides of the comparison swapped. */
static bool hinge(const takt_net_builder *b, const takt_node *n, takt_id *x, double *left,
                  double *right)
{
    const takt_node *c = takt_node_at(b->graph, n->in[0]);
    double zero, above, below;
    if (c->op != &takt_op_lt && c->op != &takt_op_le && c->op != &takt_op_gt &&
        c->op != &takt_op_ge)
        return false;
    const bool is_first = !b->values[c->in[0]]->is_known;
    *x = c->in[is_first ? 0 : 1];
    if (!only(b->values[c->in[is_first ? 1 : 0]], &zero) || zero != 0)
        return false;
    if (!factor_of(b, n->in[1], *x, &above) || !factor_of(b, n->in[2], *x, &below))
        return false;
    const bool is_less = c->op == &takt_op_lt || c->op == &takt_op_le;
    *right = is_less != is_first ? above : below;
    *left = is_less != is_first ? below : above;
    return true;
}

takt_status takt_net_choices(takt_net_builder *b, const takt_node *n, takt_net_value *const *in,
                             takt_net_value *out, bool *done)
{
    takt_id x;
    double left, right;
    const bool is_select = n->op == &takt_op_select && in[0]->is_absent;
    if (is_select && hinge(b, n, &x, &left, &right) && right == 1) {
        takt_attr *attr = takt_arena_array(&b->net->arena, TAKT_MAX_ATTRS, sizeof *attr);
        takt_node *own = takt_arena_array(&b->net->arena, 1, sizeof *own);
        const uint32_t count = b->net->nodes[b->values[x]->node].count;
        if (attr == NULL || own == NULL)
            return TAKT_ERR_MEMORY;
        *own = *n;
        own->op = &takt_op_leaky_relu;
        own->attr = attr;
        attr[0] = (takt_attr){.f64 = left, .is_set = true};
        if (count == takt_net_elements(&n->type[0])) {
            const uint32_t id = takt_net_add(b, own, TAKT_NET_CURVE, count);
            if (id == UINT32_MAX)
                return TAKT_ERR_MEMORY;
            b->net->nodes[id].sources[0] = b->values[x]->node;
            *out = (takt_net_value){.node = id};
            *done = true;
            return TAKT_OK;
        }
    }
    for (uint32_t k = 0; k < n->in_count; k++)
        if (in[k] != NULL && in[k]->is_absent)
            return takt_net_refuse(b, n, "it depends on a comparison, or on an integer");
    return TAKT_OK;
}
