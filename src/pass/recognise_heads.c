/* recognise_heads.c - the rows that heads of an attention were split from.
 *
 * Exporters write the split as a reshape and a transpose, for queries, keys and values each or for
 * all three at once, with axes of size 1 between where they come from an einsum.
 */
#include "op/util/make.h"
#include "pass/recognise.h"

/* A transpose without one of the size-1 axes of its operand. */
typedef struct permutation {
    int64_t perm[4];
    takt_dim dim[4]; /* of the operand */
} permutation;

/* Reads a transpose of four axes, or of five without axis `gone`. */
static bool read_permutation(const takt_graph *g, const takt_node *n, int gone, permutation *t)
{
    const takt_attr *perm = takt_node_attr(n, "perm");
    const takt_type *from = takt_type_of(g, n->in[0]);
    if (perm == NULL || (int)perm->count != from->rank || (gone >= 0 && from->dim[gone] != 1))
        return false;
    for (int d = 0, at = 0; d < from->rank; d++)
        if (d != gone)
            t->dim[at++] = from->dim[d];
    for (int d = 0, at = 0; d < from->rank; d++)
        if (perm->i64s[d] != gone)
            t->perm[at++] = perm->i64s[d] - (gone >= 0 && perm->i64s[d] > gone);
    return true;
}

/* Whether `id` ends with these two axes. */
static bool ends_with(const takt_graph *g, takt_id id, takt_dim a, takt_dim b)
{
    const takt_type *t = takt_type_of(g, id);
    return t->rank >= 3 && takt_dim_same(g->dims, t->dim[t->rank - 2], a) &&
           takt_dim_same(g->dims, t->dim[t->rank - 1], b);
}

static bool is_split(const permutation *t, bool is_transposed)
{
    const int64_t want[4] = {0, 2, is_transposed ? 3 : 1, is_transposed ? 1 : 3};
    for (int d = 0; d < 4; d++)
        if (t->perm[d] != want[d])
            return false;
    return true;
}

/* Heads of queries, keys or values alone. */
static bool find_separate(const takt_graph *g, takt_id id, bool is_transposed, takt_heads *found)
{
    const takt_node *moved = takt_known_op(g, id, &takt_op_reshape);
    const takt_node *n = takt_known_op(g, moved != NULL ? moved->in[0] : id, &takt_op_transpose);
    const int rank = n != NULL ? n->type->rank : 0;
    for (int gone = rank == 4 ? -1 : 0; (rank == 4 && gone < 0) || (rank == 5 && gone < 5);
         gone++) {
        permutation t;
        if (!read_permutation(g, n, gone, &t) || !is_split(&t, is_transposed) ||
            !ends_with(g, id, t.dim[is_transposed ? 3 : 1], t.dim[is_transposed ? 1 : 3]))
            continue;
        *found = (takt_heads){n->in[0], -1, t.dim[0], t.dim[1], t.dim[2], t.dim[3]};
        return true;
    }
    return false;
}

/* The slot of axis 0 that `id` selects, by an index or by a slice and a reshape, and the value it
 * comes from. */
static bool find_slot(const takt_graph *g, takt_id id, takt_id *from, int64_t *slot)
{
    const takt_node *moved = takt_known_op(g, id, &takt_op_reshape);
    const takt_node *cut = moved != NULL ? takt_known_op(g, moved->in[0], &takt_op_slice) : NULL;
    const takt_node *picked = takt_known_op(g, id, &takt_op_gather);
    if (picked != NULL && takt_node_int(picked, "axis") == 0) {
        double value;
        if (!takt_known_scalar(g, picked->in[1], &value))
            return false;
        *slot = (int64_t)value;
        *from = picked->in[0];
        return true;
    }
    const takt_attr *axes = cut != NULL ? takt_node_attr(cut, "axes") : NULL;
    if (axes == NULL || axes->count != 1 || axes->i64s[0] != 0 || cut->type->dim[0] != 1)
        return false;
    *slot = takt_node_attr(cut, "start")->i64s[0];
    *from = cut->in[0];
    return true;
}

/* Heads of all of them in one value, [slots, batch, heads, rows, dim]. */
static bool find_stacked(const takt_graph *g, takt_id id, takt_heads *found)
{
    static const int64_t want[5] = {2, 0, 3, 1, 4};
    takt_id from;
    int64_t slot;
    if (!find_slot(g, id, &from, &slot))
        return false;
    const takt_node *n = takt_known_op(g, from, &takt_op_transpose);
    const takt_attr *perm = n != NULL ? takt_node_attr(n, "perm") : NULL;
    if (perm == NULL || perm->count != 5)
        return false;
    for (int d = 0; d < 5; d++)
        if (perm->i64s[d] != want[d])
            return false;
    const takt_dim *dim = takt_type_of(g, n->in[0])->dim;
    slot += slot < 0 ? dim[2] : 0;
    if (!takt_dim_is_number(dim[2]) || slot < 0 || slot >= dim[2] ||
        !ends_with(g, id, dim[1], dim[4]))
        return false;
    *found = (takt_heads){n->in[0], slot, dim[0], dim[1], dim[3], dim[4]};
    return true;
}

bool takt_find_heads(const takt_graph *g, takt_id id, bool is_transposed, takt_heads *found)
{
    return find_separate(g, id, is_transposed, found) ||
           (!is_transposed && find_stacked(g, id, found));
}

takt_id takt_make_rows(takt_rewrite *r, const takt_heads *h)
{
    takt_graph *g = r->out;
    const takt_dim width[2] = {h->heads, h->dim};
    takt_id rows = r->map[h->from];
    if (h->slot >= 0)
        rows = takt_slice(g, rows, 2, h->slot, h->slot + 1, 1);
    const takt_dim dims[3] = {h->batch, h->rows, takt_make_product(g, width, 2)};
    return takt_reshape(g, rows, dims, 3);
}
