/* grow_gate.c - caches of merged decoders.
 *
 * Hugging Face's exporter writes an If whose branches are the first step and all others. Both
 * branches become part of the graph around it: the one that is not taken gets an empty batch, and
 *
 *     present = put together(concat(sized(past, [with, …]), new), new of the other branch)
 *
 * in which `with` is the batch or 0. New rows of both branches, put together, are those to be
 * appended, and a cache that is not read counts as one without rows. */
#include "pass/grow.h"

#include "op/ops.h"
#include "op/util/length.h"
#include "pass/match.h"

/* ---- recognising ---- */

static takt_id past_reshape(const takt_graph *g, takt_id id)
{
    const takt_node *n = takt_match_op(g, id, &takt_op_reshape);
    return n != NULL ? n->in[0] : id;
}

/* Element `k` of a vector that was put together of scalars. */
static takt_id element(const takt_graph *g, takt_id id, uint32_t k)
{
    const takt_node *n = takt_match_op(g, id, &takt_op_concat);
    for (uint32_t i = 0; n != NULL && i < n->in_count; i++)
        if (takt_type_of(g, n->in[i])->dim[0] != 1)
            return TAKT_NONE;
    if (n == NULL)
        return k == 0 && takt_type_of(g, id)->dim[0] == 1 ? past_reshape(g, id) : TAKT_NONE;
    return k < n->in_count ? past_reshape(g, n->in[k]) : TAKT_NONE;
}

/* The condition by which `size` is `all` or 0. */
static bool find_choice(const takt_graph *g, takt_dim size, takt_dim all, takt_gate *gate)
{
    size_t wanted, name;
    if (!takt_dim_is_name(g->dims, size, &wanted))
        return false;
    for (takt_id id = 0; id < gate->all; id++) {
        const takt_node *n = &g->nodes[id];
        for (uint32_t k = 0; n->op == &takt_op_length && k < n->attr[TAKT_LENGTH_NAMES].count;
             k++) {
            if (!takt_length_names(g, n, k, &name) || name != wanted)
                continue;
            const takt_id at = element(g, n->in[0], k);
            const takt_node *select =
                at != TAKT_NONE ? takt_match_op(g, at, &takt_op_select) : NULL;
            if (select == NULL || !takt_dim_same(g->dims, n->attr[TAKT_LENGTH_BOUNDS].dims[k], all))
                return false;
            gate->choice = select->in[0];
            gate->is_inverted = takt_match_value(g, select->in[1], 0);
            return gate->is_inverted != takt_match_value(g, select->in[2], 0);
        }
    }
    return false;
}

/* Equal but for the first dimension. */
static bool are_rows(const takt_graph *g, const takt_type *a, const takt_type *b, int but)
{
    if (a->dtype != b->dtype || a->rank != b->rank)
        return false;
    for (int d = 1; d < a->rank; d++)
        if (d != but && !takt_dim_same(g->dims, a->dim[d], b->dim[d]))
            return false;
    return true;
}

/* Whether `all` and `other` are those of a cache. */
static bool is_pair(const takt_graph *g, const takt_type *out, takt_gate *gate)
{
    const takt_node *c = takt_match_op(g, gate->all, &takt_op_concat);
    const takt_node *cut =
        c != NULL && c->in_count == 2 ? takt_match_op(g, c->in[0], &takt_op_sized) : NULL;
    if (cut == NULL)
        return false;
    const takt_type *past = takt_type_of(g, cut->in[0]);
    const int64_t given = takt_node_int(c, "axis");
    const int axis = (int)(given < 0 ? given + c->type->rank : given);
    if (axis == 0 || !are_rows(g, takt_type_of(g, c->in[1]), takt_type_of(g, gate->other), -1) ||
        !are_rows(g, past, out, axis) || !takt_dim_same(g->dims, past->dim[0], out->dim[0]))
        return false;
    for (takt_id id = gate->all; id < gate->other; id++)
        if (g->nodes[id].op == &takt_op_length)
            return false; /* earlier nodes may not move in front of it */
    return find_choice(g, cut->type->dim[0], past->dim[0], gate);
}

bool takt_gate_match(const takt_graph *g, takt_id output, takt_gate *gate)
{
    const takt_node *n = takt_match_op(g, output, &takt_op_reshape);
    n = n != NULL ? takt_match_op(g, n->in[0], &takt_op_sized) : NULL;
    n = n != NULL ? takt_match_op(g, n->in[0], &takt_op_concat) : NULL;
    if (n == NULL || n->in_count != 2 || n->type->rank != 1)
        return false;
    const takt_id first = past_reshape(g, n->in[0]), second = past_reshape(g, n->in[1]);
    *gate = (takt_gate){.all = first, .other = second};
    if (is_pair(g, takt_type_of(g, output), gate))
        return true;
    *gate = (takt_gate){.all = second, .other = first, .is_last = true};
    return is_pair(g, takt_type_of(g, output), gate);
}

/* ---- building ---- */

static takt_status count_of(takt_graph *g, const takt_type *type, takt_dim *count)
{
    *count = 1;
    for (int d = 0; d < type->rank; d++)
        TAKT_TRY(takt_dim_make(g->dims, TAKT_DIM_MUL, *count, type->dim[d], count));
    return TAKT_OK;
}

static takt_id flat(takt_graph *g, takt_id x)
{
    takt_dim count;
    if (x == TAKT_NONE || count_of(g, takt_type_of(g, x), &count) != TAKT_OK)
        return TAKT_NONE;
    return takt_reshape(g, x, &count, 1);
}

takt_id takt_gate_cut(takt_graph *g, takt_id x, const takt_type *type)
{
    takt_dim count;
    const takt_id all = flat(g, x);
    if (all == TAKT_NONE || count_of(g, type, &count) != TAKT_OK)
        return TAKT_NONE;
    const takt_named_attr attr = {"shape", takt_attr_shape(&count, 1)};
    const takt_id cut = takt_graph_call(g, &takt_op_sized, 1, &all, 1, &attr);
    return cut != TAKT_NONE ? takt_reshape(g, cut, type->dim, (size_t)type->rank) : cut;
}

takt_id takt_gate_join(takt_graph *g, takt_id first, takt_id second, const takt_type *type)
{
    const takt_id in[] = {flat(g, first), flat(g, second)};
    if (in[0] == TAKT_NONE || in[1] == TAKT_NONE)
        return TAKT_NONE;
    return takt_gate_cut(g, takt_concat(g, in, 2, 0), type);
}

takt_id takt_gate_select(takt_graph *g, const takt_gate *gate, takt_id choice, takt_id x)
{
    const takt_id zero = takt_scalar_i64(g, 0);
    return gate->is_inverted ? takt_select(g, choice, zero, x) : takt_select(g, choice, x, zero);
}
