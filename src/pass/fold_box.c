/* fold_box.c - exporters write x[:, a:b] = u as a scatter of u at coordinates that are spelled out.
 *
 * Small coordinates are a constant by now. Large ones are the columns of a concatenation, each a
 * constant that is broadcast. */
#include "pass/fold_box.h"

#include "ir/tensor.h"
#include "op/util/index.h"
#include "pass/match.h"

typedef struct box {
    int axes; /* of x that coordinates name; the others are whole */
    int64_t start[TAKT_MAX_RANK], stop[TAKT_MAX_RANK];
} box;

/* Elements `step` apart from `first` on, one for each place of a grid. */
typedef struct places {
    const takt_node *constant;
    takt_dim shape[TAKT_MAX_RANK];
    int rank;
    size_t first, step;
} places;

/* Whether elements count up along `axis` and are the same along all others. */
static bool counts_up(const places *p, int axis, int64_t *start)
{
    size_t inner = 1, all = 1;
    for (int d = 0; d < p->rank; d++) {
        all *= (size_t)p->shape[d];
        inner *= d > axis ? (size_t)p->shape[d] : 1;
    }
    const takt_dtype dtype = p->constant->type->dtype;
    const void *data = takt_tensor_data(p->constant->attr[0].tensor);
    *start = all > 0 ? takt_dtype_get_i(dtype, data, p->first) : 0;
    for (size_t i = 0; i < all; i++)
        if (takt_dtype_get_i(dtype, data, p->first + i * p->step) - *start !=
            (int64_t)(i / inner % (size_t)p->shape[axis]))
            return false;
    return all > 0;
}

static const takt_node *constant_at(const takt_graph *g, takt_id id)
{
    const takt_node *n = takt_match_op(g, id, &takt_op_constant);
    return n != NULL && n->attr[0].tensor->storage != NULL ? n : NULL;
}

/* The constant that a column [grid, 1] repeats, with its shape on the grid. */
static bool read_column(const takt_graph *g, takt_id id, const takt_type *index, places *p)
{
    const takt_node *column = takt_match_op(g, id, &takt_op_reshape);
    const takt_node *wide =
        takt_match_op(g, column != NULL ? column->in[0] : id, &takt_op_broadcast);
    const int rank = index->rank - 1;
    if (wide == NULL || wide->type->rank < rank)
        return false;
    for (int d = 0; d < wide->type->rank; d++)
        if (wide->type->dim[d] != (d < rank ? index->dim[d] : 1))
            return false;
    p->constant = constant_at(g, wide->in[0]);
    if (p->constant == NULL)
        return false;
    const takt_type *from = p->constant->type;
    const int missing = wide->type->rank - from->rank;
    for (int d = 0; d < rank; d++)
        p->shape[d] = d < missing ? 1 : from->dim[d - missing];
    p->rank = rank;
    p->first = 0;
    p->step = 1;
    return true;
}

static bool column_of(const takt_graph *g, const takt_node *index, int axis, places *p)
{
    const takt_type *t = index->type;
    if (index->op == &takt_op_concat) {
        const int64_t along = takt_node_attr(index, "axis")->i64;
        return (int)index->in_count == t->rank - 1 && (along == -1 || along == t->rank - 1) &&
               read_column(g, index->in[axis], t, p);
    }
    if (index->op != &takt_op_constant || index->attr[0].tensor->storage == NULL)
        return false;
    *p = (places){.constant = index, .rank = t->rank - 1, .first = (size_t)axis};
    p->step = (size_t)t->dim[t->rank - 1];
    for (int d = 0; d < p->rank; d++)
        p->shape[d] = t->dim[d];
    return true;
}

static bool find_box(const takt_graph *g, const takt_node *n, box *b)
{
    const takt_node *index = &g->nodes[n->in[1]];
    const takt_type *t = index->type, *x = n->type;
    b->axes = t->rank - 1;
    if (b->axes < 1 || t->dim[b->axes] != b->axes || takt_node_attr(n, "batch")->i64 != 0 ||
        takt_node_attr(n, "reduce")->i64 != TAKT_SET)
        return false;
    for (int d = 0; d < b->axes; d++) {
        places p;
        if (!takt_dim_is_number(t->dim[d]) || !takt_dim_is_number(x->dim[d]) || t->dim[d] < 1 ||
            !column_of(g, index, d, &p) || p.shape[d] != t->dim[d] ||
            !counts_up(&p, d, &b->start[d]))
            return false;
        b->stop[d] = b->start[d] + t->dim[d];
        if (b->start[d] < 0 || b->stop[d] > x->dim[d])
            return false;
    }
    return true;
}

/* The part of x before or behind the box along `axis`, within it along the axes before that. */
static takt_id next_to(takt_graph *g, takt_id x, const box *b, int axis, int64_t from, int64_t to)
{
    for (int d = 0; d < axis; d++)
        x = takt_slice(g, x, d, b->start[d], b->stop[d], 1);
    return takt_slice(g, x, axis, from, to, 1);
}

takt_id takt_fold_box(takt_rewrite *r, const takt_node *n)
{
    takt_graph *g = r->out;
    const takt_node node = *n; /* the graph grows */
    const takt_type x = *n->type;
    takt_id y = n->in[2];
    box b;
    if (!find_box(g, n, &b))
        return TAKT_NONE;
    for (int d = b.axes; d-- > 0;) {
        takt_id in[3];
        size_t count = 0;
        if (b.start[d] > 0)
            in[count++] = next_to(g, node.in[0], &b, d, 0, b.start[d]);
        in[count++] = y;
        if (b.stop[d] < x.dim[d])
            in[count++] = next_to(g, node.in[0], &b, d, b.stop[d], x.dim[d]);
        y = count == 1 ? y : takt_concat(g, in, count, d);
    }
    return y;
}
