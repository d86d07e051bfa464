/* recognise_group.c - group normalisation written as instance normalisation of a reshaped picture,
 * then a scale and a shift for each channel. */
#include "pass/recognise.h"

/* One value for each channel, broadcast along axis 1 of `like`. */
static bool is_per_channel(const takt_graph *g, takt_id id, const takt_type *like)
{
    const takt_type *t = takt_type_of(g, id);
    const int axis = 1 - (like->rank - t->rank);
    if (axis < 0 || t->dtype != like->dtype)
        return false;
    for (int d = 0; d < t->rank; d++)
        if (t->dim[d] != (d == axis ? like->dim[1] : 1))
            return false;
    return true;
}

/* The operand of `n` that is a node of `op`, and the other one. */
static const takt_node *side_of(const takt_graph *g, const takt_node *n, const takt_op *op,
                                takt_id *at, takt_id *other)
{
    for (int k = 0; n != NULL && k < 2; k++)
        if (takt_known_op(g, n->in[k], op) != NULL) {
            *at = n->in[k];
            *other = n->in[1 - k];
            return &g->nodes[n->in[k]];
        }
    return NULL;
}

const char *takt_match_group(takt_uses u, takt_id root, takt_grouped *found)
{
    const takt_node *n = &u.g->nodes[root];
    const bool is_bare = n->op == &takt_op_reshape;
    takt_id product = root, back = root;
    found->gamma = found->beta = TAKT_NONE;
    const takt_node *by = is_bare ? n : side_of(u.g, n, &takt_op_mul, &product, &found->beta);
    const takt_node *whole = is_bare ? n : side_of(u.g, by, &takt_op_reshape, &back, &found->gamma);
    const takt_node *inner =
        whole != NULL ? takt_known_op(u.g, whole->in[0], &takt_op_instance_norm) : NULL;
    const takt_node *cut =
        inner != NULL ? takt_known_op(u.g, inner->in[0], &takt_op_reshape) : NULL;
    if (cut == NULL || !takt_match_type(u.g, cut->in[0], n->type) || n->type->rank < 3)
        return "";
    const takt_type *x = n->type, *groups = inner->type;
    if (x->rank == TAKT_MAX_RANK)
        return "it has too many dimensions";
    found->x = cut->in[0];
    found->epsilon = takt_node_attr(inner, "epsilon")->f64;
    found->groups = groups->dim[1];
    if (takt_node_int(inner, "layout") != 0 ||
        !takt_dim_same(u.g->dims, groups->dim[0], x->dim[0]) || !takt_dim_is_number(x->dim[1]) ||
        !takt_dim_is_number(found->groups) || found->groups < 1 || x->dim[1] % found->groups != 0)
        return "its groups are not of whole channels";
    if (!takt_match_value(u.g, inner->in[1], 1) ||
        (inner->in_count > 2 && inner->in[2] != TAKT_NONE &&
         !takt_match_value(u.g, inner->in[2], 0)))
        return "its groups have scales of their own";
    if (!is_bare && (!is_per_channel(u.g, found->gamma, x) || !is_per_channel(u.g, found->beta, x)))
        return "its scale and shift are not one for each channel";
    if ((!is_bare && (u.of[product] != 1 || u.of[back] != 1)) || u.of[whole->in[0]] != 1)
        return "a part of it is used elsewhere too";
    return NULL;
}
