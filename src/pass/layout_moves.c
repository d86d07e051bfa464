/* layout_moves.c - how the pass `layout` treats quantisation and moves of elements. */
#include "op/ops.h"
#include "pass/layout.h"
#include "pass/match.h"

/* Scales and zero points go along one axis, or are scalars. */
static bool affine(takt_layout *l, takt_id id, const takt_node *n)
{
    const bool is_known =
        n->op == &takt_op_quantize || n->op == &takt_op_dequantize || n->op == &takt_op_requantize;
    if (!is_known)
        return false;
    takt_attr attrs[TAKT_MAX_ATTRS];
    takt_id in[TAKT_LAYOUT_MOST];
    const int at = takt_op_attr_index(n->op, "axis");
    takt_node_attrs(n, attrs);
    if (at >= 0 && takt_type_of(l->c.in, n->in[1])->rank > 0)
        attrs[at] = takt_attr_i64(takt_layout_axis(n->attr[at].i64, n->type->rank));
    for (uint32_t k = 0; k < n->in_count; k++)
        in[k] = k == 0 ? takt_layout_last(l, n->in[k]) : takt_layout_plain(l, n->in[k]);
    takt_layout_moved(l, id, in, attrs, "quantize(transpose(x)) = transpose(quantize(x))");
    return true;
}

/* Channels that are split, transposed and joined: [N, C, ...] to [N, a, b, ...] to [N, b, a, ...]
 * to [N, C, ...]. The same on the last axis, where nothing else is in the way. */
bool takt_layout_shuffle(takt_layout *l, takt_id id, const takt_node *n)
{
    const takt_graph *g = l->c.in;
    if (n->op != &takt_op_reshape)
        return false;
    const takt_node *t = takt_match_op(g, n->in[0], &takt_op_transpose);
    const takt_node *apart = t != NULL ? takt_match_op(g, t->in[0], &takt_op_reshape) : NULL;
    const int rank = n->type->rank;
    if (apart == NULL || rank < 3 || rank + 1 > TAKT_MAX_RANK || t->type->rank != rank + 1 ||
        !l->is_moved[apart->in[0]] || !takt_match_type(g, apart->in[0], n->type))
        return false;
    const takt_attr *perm = takt_node_attr(t, "perm");
    takt_dim split[TAKT_MAX_RANK];
    int64_t swap[TAKT_MAX_RANK];
    for (int d = 0; d <= rank; d++) {
        const int64_t from = d == 1 ? 2 : d == 2 ? 1 : d;
        if (perm->count != (uint32_t)rank + 1 || perm->i64s[d] != from ||
            (d != 1 && d != 2 && apart->type->dim[d] != n->type->dim[d > 2 ? d - 1 : d]))
            return false;
        split[d] = apart->type->dim[d == 0 ? 0 : d < rank - 1 ? d + 2 : d - rank + 2];
        swap[d] = d < rank - 1 ? d : d == rank - 1 ? rank : rank - 1;
    }
    takt_graph *out = l->c.out;
    const size_t count = (size_t)rank + 1;
    takt_id x = takt_reshape(out, takt_layout_last(l, apart->in[0]), split, count);
    x = takt_transpose(out, x, swap, count);
    takt_dim whole[TAKT_MAX_RANK];
    for (int d = 0; d < rank; d++)
        whole[takt_layout_axis(d, rank)] = n->type->dim[d];
    takt_attr attrs[TAKT_MAX_ATTRS];
    takt_node_attrs(n, attrs);
    attrs[takt_op_attr_index(n->op, "shape")] = takt_attr_shape(whole, (size_t)rank);
    takt_layout_moved(l, id, &x, attrs, "channels shuffled first = channels shuffled last");
    return true;
}

static bool concat(takt_layout *l, takt_id id, const takt_node *n)
{
    if (n->op != &takt_op_concat || n->in_count > TAKT_LAYOUT_MOST)
        return false;
    takt_attr attrs[TAKT_MAX_ATTRS];
    takt_id in[TAKT_LAYOUT_MOST];
    const int at = takt_op_attr_index(n->op, "axis");
    takt_node_attrs(n, attrs);
    attrs[at] = takt_attr_i64(takt_layout_axis(n->attr[at].i64, n->type->rank));
    for (uint32_t k = 0; k < n->in_count; k++)
        in[k] = takt_layout_last(l, n->in[k]);
    takt_layout_moved(l, id, in, attrs, "concat(transpose(x)...) = transpose(concat(x...))");
    return true;
}

static bool pad(takt_layout *l, takt_id id, const takt_node *n)
{
    if (n->op != &takt_op_pad)
        return false;
    takt_attr attrs[TAKT_MAX_ATTRS];
    int64_t before[TAKT_MAX_RANK];
    takt_dim after[TAKT_MAX_RANK];
    const int rank = n->type->rank, b = takt_op_attr_index(n->op, "before"),
              a = takt_op_attr_index(n->op, "after");
    takt_node_attrs(n, attrs);
    for (int d = 0; d < rank; d++) {
        before[takt_layout_axis(d, rank)] = n->attr[b].i64s[d];
        after[takt_layout_axis(d, rank)] = n->attr[a].dims[d];
    }
    attrs[b] = takt_attr_i64s(before, (size_t)rank);
    attrs[a] = takt_attr_shape(after, (size_t)rank);
    takt_layout_moved(l, id, (const takt_id[]){takt_layout_last(l, n->in[0])}, attrs,
                      "pad(transpose(x)) = transpose(pad(x))");
    return true;
}

static bool slice(takt_layout *l, takt_id id, const takt_node *n)
{
    if (n->op != &takt_op_slice)
        return false;
    takt_attr attrs[TAKT_MAX_ATTRS];
    int64_t axes[TAKT_MAX_RANK];
    const int at = takt_op_attr_index(n->op, "axes");
    const uint32_t count = n->attr[takt_op_attr_index(n->op, "start")].count;
    takt_node_attrs(n, attrs);
    for (uint32_t i = 0; i < count; i++)
        axes[i] = takt_layout_axis(n->attr[at].count == 0 ? (int64_t)i : n->attr[at].i64s[i],
                                   n->type->rank);
    attrs[at] = takt_attr_i64s(axes, count);
    takt_layout_moved(l, id, (const takt_id[]){takt_layout_last(l, n->in[0])}, attrs,
                      "slice(transpose(x)) = transpose(slice(x))");
    return true;
}

/* ---- enlarged pictures ---- */

/* It computes in the form that its only large operand has; sums of two would be transposed twice.
 */
static bool passes_on(const takt_graph *g, const takt_node *n)
{
    uint32_t large = 0;
    if (n->op == &takt_op_gather || n->op == &takt_op_gather_sum)
        return true;
    for (uint32_t k = 0; k < n->in_count; k++)
        large += n->in[k] != TAKT_NONE && takt_match_type(g, n->in[k], n->type);
    return (n->op->traits & TAKT_ELEMENTWISE) != 0 && large == 1;
}

/* Ops that have no other form than the model's own. */
static bool is_plain(const takt_node *n)
{
    const takt_op *const ops[] = {&takt_op_reshape, &takt_op_transpose, &takt_op_matmul,
                                  &takt_op_softmax};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (n->op == ops[i])
            return true;
    return false;
}

void takt_layout_ask(takt_layout *l)
{
    const takt_graph *g = l->c.in;
    for (size_t i = g->count; i-- > 0;) {
        const takt_node *n = &g->nodes[i];
        if (!l->c.live[i] || is_plain(n) || (passes_on(g, n) && !l->is_asked[i]))
            continue;
        for (uint32_t k = 0; k < n->in_count; k++)
            if (n->in[k] != TAKT_NONE)
                l->is_asked[n->in[k]] = 1;
    }
}

/* More elements than before, and only the model's own form of them is read. */
static bool stays(const takt_layout *l, takt_id id, const takt_node *n)
{
    const takt_type *x = takt_type_of(l->c.in, n->in[0]);
    const int64_t axis = takt_node_int(n, "axis");
    const int d = (int)(axis < 0 ? axis + x->rank : axis);
    return !l->is_asked[id] && takt_dim_is_number(x->dim[d]) &&
           takt_dim_is_number(n->type->dim[d]) && n->type->dim[d] > x->dim[d];
}

/* Elements along any axis but that of the channels, which are then contiguous. */
static bool gather(takt_layout *l, takt_id id, const takt_node *n)
{
    const int rank = n->type->rank;
    if (n->op != &takt_op_gather || takt_type_of(l->c.in, n->in[0])->rank != rank)
        return false;
    takt_attr attrs[TAKT_MAX_ATTRS];
    const int at = takt_op_attr_index(n->op, "axis");
    const int64_t axis = takt_layout_axis(n->attr[at].i64, rank);
    if (axis == rank - 1 || !l->is_moved[n->in[0]] || stays(l, id, n))
        return false;
    takt_node_attrs(n, attrs);
    attrs[at] = takt_attr_i64(axis);
    const takt_id in[2] = {takt_layout_last(l, n->in[0]), takt_layout_plain(l, n->in[1])};
    takt_layout_moved(l, id, in, attrs, "gather(transpose(x), i) = transpose(gather(x, i))");
    return true;
}

/* The same for weighted sums of them, if all images share the indices. */
static bool gather_sum(takt_layout *l, takt_id id, const takt_node *n)
{
    if (n->op != &takt_op_gather_sum || takt_node_int(n, "batch_dims") != 0)
        return false;
    takt_attr attrs[TAKT_MAX_ATTRS];
    takt_id in[4];
    const int at = takt_op_attr_index(n->op, "axis"), rank = n->type->rank;
    const int64_t axis = takt_layout_axis(n->attr[at].i64, rank);
    if (axis == rank - 1 || !l->is_moved[n->in[0]] || stays(l, id, n))
        return false;
    takt_node_attrs(n, attrs);
    attrs[at] = takt_attr_i64(axis);
    in[0] = takt_layout_last(l, n->in[0]);
    for (uint32_t k = 1; k < n->in_count; k++)
        in[k] = n->in[k] == TAKT_NONE ? TAKT_NONE : takt_layout_plain(l, n->in[k]);
    takt_layout_moved(l, id, in, attrs,
                      "gather_sum(transpose(x), i, w) = transpose(gather_sum(x, i, w))");
    return true;
}

bool takt_layout_move(takt_layout *l, takt_id id, const takt_node *n)
{
    return affine(l, id, n) || concat(l, id, n) || pad(l, id, n) || slice(l, id, n) ||
           gather(l, id, n) || gather_sum(l, id, n);
}
