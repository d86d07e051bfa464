/* pieces.c - a sum of gradients that do not overlap is their concatenation.
 *
 * The gradient of a slice is its own gradient between zeros. If a value is cut into parts, as gates
 * of recurrent cells and heads are, the sum of all of them only adds zeros. */
#include "grad/reverse.h"
#include "op/ops.h"

enum { MOST = 16 };

typedef struct piece {
    takt_id id;
    int64_t from, to;
} piece;

typedef struct pieces {
    takt_graph *g;
    piece list[MOST];
    size_t count;
    int axis; /* -1: not known yet */
} pieces;

/* x between zeros along one axis, the same for all. */
static bool add_piece(pieces *p, const takt_node *n)
{
    const takt_attr *before = takt_node_attr(n, "before"), *after = takt_node_attr(n, "after");
    const takt_type *x = takt_type_of(p->g, n->in[0]);
    if (n->op != &takt_op_pad || takt_node_int(n, "mode") != 0 ||
        takt_node_attr(n, "value")->f64 != 0 || p->count == MOST ||
        before->count != (uint32_t)x->rank || after->count != (uint32_t)x->rank)
        return false;
    for (int i = 0; i < x->rank; i++) {
        if (before->i64s[i] == 0 && after->dims[i] == 0)
            continue;
        if (before->i64s[i] < 0 || !takt_dim_is_number(after->dims[i]) || after->dims[i] < 0 ||
            (p->axis >= 0 && p->axis != i) || !takt_dim_is_number(x->dim[i]))
            return false;
        p->axis = i;
    }
    if (p->axis < 0 || !takt_dim_is_number(x->dim[p->axis]))
        return false;
    const int64_t from = before->i64s[p->axis];
    size_t at = p->count++;
    for (; at > 0 && p->list[at - 1].from > from; at--)
        p->list[at] = p->list[at - 1];
    p->list[at] = (piece){n->in[0], from, from + x->dim[p->axis]};
    return true;
}

static bool collect(pieces *p, takt_id id, int level)
{
    const takt_node *n = takt_node_at(p->g, id);
    if (n->op == &takt_op_pad)
        return add_piece(p, n);
    return n->op == &takt_op_add && level < MOST && collect(p, n->in[0], level + 1) &&
           collect(p, n->in[1], level + 1);
}

takt_id takt_grad_join(takt_graph *g, takt_id sum)
{
    pieces p = {.g = g, .axis = -1};
    takt_id in[MOST];
    int64_t end = 0;
    if (sum == TAKT_NONE || takt_node_at(g, sum)->op != &takt_op_add || !collect(&p, sum, 0))
        return sum;
    for (size_t i = 0; i < p.count; i++) {
        if (p.list[i].from != end)
            return sum; /* they overlap, or leave something out */
        end = p.list[i].to;
        in[i] = p.list[i].id;
    }
    return takt_type_of(g, sum)->dim[p.axis] == end ? takt_concat(g, in, p.count, p.axis) : sum;
}
