/* recognise_normed.c - the normalisation that its arithmetic becomes. */
#include "op/util/window.h"
#include "pass/recognise.h"

/* Channels, axis 1, moved to the end, or back from there. */
static takt_id moved(takt_graph *g, takt_id id, bool is_back)
{
    int64_t perm[TAKT_MAX_RANK];
    if (id == TAKT_NONE)
        return id;
    const int rank = takt_type_of(g, id)->rank;
    for (int d = 0; d < rank; d++) {
        const int to_end = d == 0 ? 0 : d == rank - 1 ? 1 : d + 1;
        perm[d] = !is_back ? to_end : d < 2 ? d * (rank - 1) : d - 1;
    }
    return takt_transpose(g, id, perm, (size_t)rank);
}

/* What a transpose moves back, or TAKT_NONE. */
static takt_id before_moved(const takt_graph *g, takt_id id)
{
    const takt_node *n = takt_match_op(g, id, &takt_op_transpose);
    const takt_attr *perm = n != NULL ? takt_node_attr(n, "perm") : NULL;
    const int rank = n != NULL ? n->type->rank : 0;
    bool fits = perm != NULL && rank > 2 && (int)perm->count == rank;
    for (int d = 0; fits && d < rank; d++)
        fits = perm->i64s[d] == (d < 2 ? d * (rank - 1) : d - 1);
    return fits ? n->in[0] : TAKT_NONE;
}

/* `value` for every column of the last axis. */
static takt_id filled(takt_graph *g, takt_id x, double value)
{
    const takt_type *t = takt_type_of(g, x);
    const takt_dim last = t->dim[t->rank - 1];
    return takt_broadcast(g, takt_scalar_like(g, x, value), &last, 1);
}

static bool is_ones(const takt_graph *g, takt_id id)
{
    const takt_node *n = takt_match_op(g, id, &takt_op_broadcast);
    return n != NULL && takt_match_value(g, n->in[0], 1);
}

/* A value for every column of the last axis, or for every channel, as a vector; TAKT_NONE if it is
 * something else. */
static takt_id columns(takt_graph *g, takt_id id, const takt_type *like, bool is_channels)
{
    size_t count;
    const takt_type *t = takt_type_of(g, id);
    const int axis = is_channels ? 1 : like->rank - 1, at = axis - (like->rank - t->rank);
    if (at < 0 || t->rank > like->rank || !takt_type_count(t, &count) ||
        t->dim[at] != like->dim[axis] || count != (size_t)like->dim[axis] ||
        t->dtype != like->dtype)
        return TAKT_NONE;
    return t->rank == 1 ? id : takt_reshape(g, id, &like->dim[axis], 1);
}

static takt_id norm_of(takt_graph *g, bool is_centred, const takt_id in[3], double epsilon)
{
    const takt_named_attr attr = {"epsilon", takt_attr_f64(epsilon)};
    const size_t count = !is_centred || in[2] == TAKT_NONE ? 2 : 3;
    return takt_graph_call(g, is_centred ? &takt_op_layer_norm : &takt_op_rms_norm, count, in, 1,
                           &attr);
}

/* A value for every channel of every group, as a vector; TAKT_NONE if it is something else. */
static takt_id channels_of(takt_graph *g, takt_id id, const takt_type *like)
{
    const takt_type *t = takt_type_of(g, id);
    const takt_dim channels = like->dim[like->rank - 2] * like->dim[like->rank - 1];
    size_t count;
    if (t->rank < 2 || t->rank > like->rank || !takt_type_count(t, &count) ||
        count != (size_t)channels || t->dim[t->rank - 1] != like->dim[like->rank - 1] ||
        t->dim[t->rank - 2] != like->dim[like->rank - 2] || t->dtype != like->dtype)
        return TAKT_NONE;
    return takt_reshape(g, id, &channels, 1);
}

/* Channels that were split into groups, joined, normalised and split again. */
static takt_id split_group(takt_rewrite *r, const takt_normed *found, const takt_type *like)
{
    takt_graph *g = r->out;
    takt_dim dims[TAKT_MAX_RANK];
    const int rank = like->rank - 1;
    for (int d = 0; d < rank; d++)
        dims[d] = like->dim[d];
    dims[rank - 1] = like->dim[rank - 1] * like->dim[rank];
    takt_id in[3] = {takt_reshape(g, r->map[found->x], dims, (size_t)rank), TAKT_NONE, TAKT_NONE};
    if (in[0] == TAKT_NONE)
        return TAKT_NONE;
    in[1] = found->gamma == TAKT_NONE ? filled(g, in[0], 1)
                                      : channels_of(g, r->map[found->gamma], like);
    in[2] =
        found->beta == TAKT_NONE ? filled(g, in[0], 0) : channels_of(g, r->map[found->beta], like);
    if (in[1] == TAKT_NONE || in[2] == TAKT_NONE)
        return TAKT_NONE;
    const takt_named_attr how[3] = {{"groups", takt_attr_i64(like->dim[rank - 1])},
                                    {"epsilon", takt_attr_f64(found->epsilon)},
                                    {"layout", takt_attr_i64(TAKT_NHWC)}};
    const takt_id y = takt_graph_call(g, &takt_op_group_norm, 3, in, 3, how);
    return y == TAKT_NONE ? y : takt_reshape(g, y, like->dim, (size_t)like->rank);
}

takt_id takt_rule_norm(takt_rewrite *r, const takt_node *n)
{
    takt_normed found;
    takt_graph *g = r->out;
    const char *why = takt_match_norm(takt_uses_of(r), r->id, &found);
    if (why != NULL)
        return takt_missed(r, n, why);
    const takt_type like = *n->type;
    if (!takt_match_type(g, r->map[found.x], &like))
        return TAKT_NONE;
    if (found.is_grouped)
        return split_group(r, &found, &like);
    const takt_id x = r->map[found.x];
    takt_id in[3] = {found.is_channels ? moved(g, x, false) : x, TAKT_NONE, TAKT_NONE};
    if (in[0] == TAKT_NONE)
        return TAKT_NONE;
    in[1] = found.gamma == TAKT_NONE ? filled(g, in[0], 1)
                                     : columns(g, r->map[found.gamma], &like, found.is_channels);
    if (found.beta != TAKT_NONE)
        in[2] = columns(g, r->map[found.beta], &like, found.is_channels);
    if (in[1] == TAKT_NONE || (found.beta != TAKT_NONE && in[2] == TAKT_NONE))
        return TAKT_NONE;
    const takt_id y = norm_of(g, found.is_centred, in, found.epsilon);
    return found.is_channels ? moved(g, y, true) : y;
}

/* A normalisation and what its result is scaled or shifted by. */
typedef struct normal {
    const takt_node *inner;
    takt_id other;
    bool is_channels;
} normal;

/* The normalisation among the operands of `n`, which alone reads it. */
static bool find_normal(const takt_rewrite *r, const takt_node *n, const takt_op *op, normal *found)
{
    for (uint32_t k = 0; k < 2; k++) {
        const takt_id before = before_moved(r->out, n->in[k]);
        found->is_channels = before != TAKT_NONE;
        found->inner = takt_match_op(r->out, found->is_channels ? before : n->in[k], op);
        found->other = n->in[1 - k];
        if (found->inner != NULL && takt_match_single(r, k) &&
            takt_node_int(found->inner, "axis") == -1 &&
            takt_match_type(r->out, n->in[k], n->type) &&
            (found->inner->in_count < 3 || found->inner->in[2] == TAKT_NONE))
            return true;
    }
    return false;
}

/* The normalisation with another scale or shift. */
static takt_id with(takt_rewrite *r, const takt_node *n, const normal *found, int operand)
{
    const takt_node *inner = found->inner;
    const bool is_centred = inner->op == &takt_op_layer_norm;
    const double epsilon = takt_node_attr(inner, "epsilon")->f64;
    takt_id in[3] = {inner->in[0], inner->in[1], TAKT_NONE};
    in[operand] = columns(r->out, found->other, n->type, found->is_channels);
    if (in[operand] == TAKT_NONE)
        return TAKT_NONE;
    const takt_id y = norm_of(r->out, is_centred, in, epsilon);
    return found->is_channels ? moved(r->out, y, true) : y;
}

static takt_id scaled_norm(takt_rewrite *r, const takt_node *n, const takt_op *op)
{
    normal found;
    return find_normal(r, n, op, &found) && is_ones(r->out, found.inner->in[1])
               ? with(r, n, &found, 1)
               : TAKT_NONE;
}

takt_id takt_rule_scaled_layer(takt_rewrite *r, const takt_node *n)
{
    return scaled_norm(r, n, &takt_op_layer_norm);
}

takt_id takt_rule_scaled_rms(takt_rewrite *r, const takt_node *n)
{
    return scaled_norm(r, n, &takt_op_rms_norm);
}

takt_id takt_rule_shifted_norm(takt_rewrite *r, const takt_node *n)
{
    normal found;
    return find_normal(r, n, &takt_op_layer_norm, &found) ? with(r, n, &found, 2) : TAKT_NONE;
}

takt_id takt_rule_group(takt_rewrite *r, const takt_node *n)
{
    takt_grouped found;
    const char *why = takt_match_group(takt_uses_of(r), r->id, &found);
    if (why != NULL) /* of a scale and a shift behind the reshape it is said there */
        return n->op == &takt_op_reshape ? TAKT_NONE : takt_missed(r, n, why);
    const takt_dim channels = n->type->dim[1];
    takt_id in[3] = {r->map[found.x], TAKT_NONE, TAKT_NONE};
    for (int k = 1; k < 3; k++) {
        const takt_id given = k == 1 ? found.gamma : found.beta;
        in[k] = given != TAKT_NONE
                    ? takt_reshape(r->out, r->map[given], &channels, 1)
                    : takt_broadcast(r->out, takt_scalar_like(r->out, in[0], 2 - k), &channels, 1);
    }
    const takt_named_attr how[2] = {{"groups", takt_attr_i64(found.groups)},
                                    {"epsilon", takt_attr_f64(found.epsilon)}};
    return takt_graph_call(r->out, &takt_op_group_norm, 3, in, 2, how);
}
