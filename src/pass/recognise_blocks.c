/* recognise_blocks.c - images cut into blocks of two by two, or more, with slices and concatenated
 * as channels: the first layer of some detectors, and between the stages of shifted windows. */
#include "pass/recognise.h"

enum { MOST = 4, PHASES = MOST * MOST };

/* Axis `i` of a slice: its number, start and step. */
static void cut_of(const takt_node *n, uint32_t i, int64_t *axis, int64_t *start, int64_t *step)
{
    const takt_attr *axes = takt_node_attr(n, "axes"), *by = takt_node_attr(n, "step");
    const int64_t given = axes->count > 0 ? axes->i64s[i] : (int64_t)i;
    *axis = given < 0 ? given + n->type->rank : given;
    *start = takt_node_attr(n, "start")->i64s[i];
    *step = by->count > 0 ? by->i64s[i] : 1;
}

/* The axis of rows. */
static int rows_of(const takt_blocks *b)
{
    return b->is_last ? 1 : 2;
}

/* The phase of the image that a chain of slices takes, whose step is the block; its rows are at
 * axis `rows`; false: it is something else. */
static bool phase_of(takt_uses u, takt_id id, const takt_blocks *b, takt_id *x, int64_t phase[2])
{
    bool is_cut[2] = {false, false};
    while (u.g->nodes[id].op == &takt_op_slice && !(is_cut[0] && is_cut[1])) {
        const takt_node *n = &u.g->nodes[id];
        const takt_type *from = takt_type_of(u.g, n->in[0]);
        for (uint32_t i = 0; i < takt_node_attr(n, "start")->count; i++) {
            int64_t axis, start, step;
            cut_of(n, i, &axis, &start, &step);
            if (takt_dim_same(u.g->dims, n->type->dim[axis], from->dim[axis]) && step == 1)
                continue;
            const int which = (int)axis - rows_of(b);
            if (which < 0 || which > 1 || is_cut[which] || step != b->block || start < 0 ||
                start >= b->block || !takt_dim_is_number(from->dim[axis]) ||
                n->type->dim[axis] * b->block != from->dim[axis])
                return false;
            is_cut[which] = true;
            phase[which] = start;
        }
        id = n->in[0];
    }
    *x = id;
    return is_cut[0] && is_cut[1];
}

const char *takt_match_blocks(takt_uses u, takt_id root, takt_blocks *found)
{
    const takt_node *n = takt_known_op(u.g, root, &takt_op_concat);
    int64_t order[PHASES][2];
    if (n == NULL || n->type->rank != 4 || n->in_count > PHASES)
        return "";
    const int64_t given = takt_node_int(n, "axis"), axis = given < 0 ? given + 4 : given;
    for (found->block = 2; found->block * found->block < n->in_count;)
        found->block++;
    const int64_t block = found->block;
    const int phases = (int)n->in_count;
    if (block * block != phases)
        return "";
    found->is_last = axis == 3;
    for (int k = 0; k < phases; k++) {
        takt_id from;
        if (!phase_of(u, n->in[k], found, &from, order[k]) || (k > 0 && from != found->x))
            return "";
        found->x = from;
    }
    if (axis != 1 && axis != 3)
        return "the phases are not put along the channels";
    for (int way = 0; way < 2; way++) {
        bool fits = true;
        for (int k = 0; k < phases; k++)
            fits &= order[k][way] == k / block && order[k][1 - way] == k % block;
        found->is_column_first = way == 1;
        if (fits)
            return NULL;
    }
    return "the phases are in no order";
}

takt_id takt_make_blocks(takt_rewrite *r, const takt_blocks *b)
{
    takt_graph *g = r->out;
    const takt_type x = *takt_type_of(g, r->map[b->x]), y = *r->in->nodes[r->id].type;
    const int rows = rows_of(b);
    const int64_t column_first = b->is_column_first;
    takt_dim apart[6];
    int64_t perm[6];
    for (int d = 0, k = 0; d < 4; d++) {
        const bool is_cut = d == rows || d == rows + 1;
        apart[k++] = is_cut ? x.dim[d] / b->block : x.dim[d];
        if (is_cut)
            apart[k++] = b->block;
    }
    const int64_t first[6] = {0, 3 + 2 * column_first, 5 - 2 * column_first, 1, 2, 4};
    const int64_t last[6] = {0, 1, 3, 2 + 2 * column_first, 4 - 2 * column_first, 5};
    for (int i = 0; i < 6; i++)
        perm[i] = b->is_last ? last[i] : first[i];
    const takt_id cut = takt_reshape(g, r->map[b->x], apart, 6);
    if (cut == TAKT_NONE)
        return cut;
    return takt_reshape(g, takt_transpose(g, cut, perm, 6), y.dim, 4);
}
