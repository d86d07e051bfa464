/* einsum_join.c - contraction of two factors as one matrix product. */
#include "op/util/einsum.h"
#include "op/util/make.h"

static void add(takt_labels *to, int label)
{
    if (to->rank < TAKT_MAX_RANK)
        to->at[to->rank++] = (unsigned char)label;
}

static void add_all(takt_labels *to, const takt_labels *from)
{
    for (int d = 0; d < from->rank; d++)
        add(to, from->at[d]);
}

takt_factor takt_einsum_arrange(takt_graph *g, takt_factor f, const takt_labels *labels)
{
    int64_t perm[TAKT_MAX_RANK];
    bool moves = false;
    for (int d = 0; d < labels->rank; d++) {
        perm[d] = takt_labels_find(&f.labels, labels->at[d]);
        moves = moves || perm[d] != d;
    }
    if (moves)
        f.id = takt_transpose(g, f.id, perm, (size_t)labels->rank);
    f.labels = *labels;
    return f;
}

/* x where two axes have the same index, summed over the second of them: the diagonal. A select
 * rather than a product, so that infinities off the diagonal have no effect. */
static takt_factor diagonal(takt_graph *g, takt_factor f, int first, int second)
{
    if (f.id == TAKT_NONE)
        return f;
    const takt_type *t = takt_type_of(g, f.id);
    const takt_id rows = takt_make_iota(g, t->dim, t->rank, first);
    const takt_id columns = takt_make_iota(g, t->dim, t->rank, second);
    const takt_id same = takt_binary(g, &takt_op_eq, rows, columns);
    const takt_id kept = takt_select(g, same, f.id, takt_scalar_like(g, f.id, 0));
    f.id = takt_reduce_over(g, &takt_op_reduce_sum, kept, (int64_t[]){second}, 1, false);
    f.labels.rank--;
    for (int d = second; d < f.labels.rank; d++)
        f.labels.at[d] = f.labels.at[d + 1];
    return f;
}

takt_factor takt_einsum_reduce(takt_graph *g, takt_factor f,
                               const bool kept[static TAKT_EINSUM_LABELS])
{
    for (int d = f.labels.rank - 1; d > 0; d--) {
        const int first = takt_labels_find(&f.labels, f.labels.at[d]);
        if (first != d)
            f = diagonal(g, f, first, d);
    }
    int64_t axes[TAKT_MAX_RANK];
    size_t count = 0;
    takt_labels rest = {0};
    for (int d = 0; d < f.labels.rank; d++)
        if (kept[f.labels.at[d]])
            add(&rest, f.labels.at[d]);
        else
            axes[count++] = d;
    if (count > 0)
        f.id = takt_reduce_over(g, &takt_op_reduce_sum, f.id, axes, count, false);
    f.labels = rest;
    return f;
}

typedef struct parts {
    takt_labels batch, inner; /* of both operands: kept, summed */
    takt_labels left, right;  /* of one of them */
} parts;

static parts classify(const takt_labels *a, const takt_labels *b, const bool *kept)
{
    parts p = {0};
    for (int d = 0; d < a->rank; d++) {
        const int label = a->at[d];
        const bool is_shared = takt_labels_has(b, label);
        add(!is_shared ? &p.left : kept[label] ? &p.batch : &p.inner, label);
    }
    for (int d = 0; d < b->rank; d++)
        if (!takt_labels_has(a, b->at[d]))
            add(&p.right, b->at[d]);
    return p;
}

static int put(takt_dim *dims, int rank, const takt_labels *labels, const takt_dim *size)
{
    for (int d = 0; d < labels->rank; d++)
        dims[rank++] = size == NULL ? 1 : size[labels->at[d]];
    return rank;
}

static takt_dim product(takt_graph *g, const takt_labels *labels, const takt_dim *size)
{
    takt_dim dims[TAKT_MAX_RANK];
    put(dims, 0, labels, size);
    return takt_make_product(g, dims, labels->rank);
}

/* Nothing is summed: an outer product by broadcasting. */
static takt_id outer(takt_graph *g, takt_id a, takt_id b, const parts *p, const takt_dim *size)
{
    takt_dim left[TAKT_MAX_RANK], right[TAKT_MAX_RANK];
    int rank = put(left, 0, &p->batch, size);
    put(right, 0, &p->batch, size);
    put(left, rank, &p->left, size);
    rank = put(right, rank, &p->left, NULL);
    put(left, rank, &p->right, NULL);
    rank = put(right, rank, &p->right, size);
    return takt_mul(g, takt_reshape(g, a, left, (size_t)rank),
                    takt_reshape(g, b, right, (size_t)rank));
}

static takt_id contract(takt_graph *g, takt_id a, takt_id b, const parts *p, const takt_dim *size)
{
    takt_dim dims[TAKT_MAX_RANK + 2];
    const int batch = put(dims, 0, &p->batch, size);
    const takt_dim inner = product(g, &p->inner, size);
    dims[batch] = product(g, &p->left, size);
    dims[batch + 1] = inner;
    a = takt_reshape(g, a, dims, (size_t)batch + 2);
    dims[batch] = inner;
    dims[batch + 1] = product(g, &p->right, size);
    b = takt_reshape(g, b, dims, (size_t)batch + 2);
    const takt_id y = takt_matmul(g, a, b, false, false);
    const int rank = put(dims, put(dims, batch, &p->left, size), &p->right, size);
    return takt_reshape(g, y, dims, (size_t)rank);
}

takt_factor takt_einsum_join(takt_graph *g, const takt_factor *a, const takt_factor *b,
                             const bool kept[static TAKT_EINSUM_LABELS],
                             const takt_dim size[static TAKT_EINSUM_LABELS])
{
    const parts p = classify(&a->labels, &b->labels, kept);
    takt_factor y = {.id = TAKT_NONE};
    if (p.batch.rank + p.left.rank + p.right.rank > TAKT_MAX_RANK ||
        p.batch.rank + 2 > TAKT_MAX_RANK) {
        takt_graph_fail(g, takt_fail(g->ctx, TAKT_E_RANK,
                                     "einsum: an intermediate result would "
                                     "have more than %d axes",
                                     TAKT_MAX_RANK));
        return y;
    }
    takt_labels left = p.batch, right = p.batch;
    add_all(&left, &p.left);
    add_all(&left, &p.inner);
    add_all(&right, &p.inner);
    add_all(&right, &p.right);
    const takt_id ia = takt_einsum_arrange(g, *a, &left).id;
    const takt_id ib = takt_einsum_arrange(g, *b, &right).id;
    y.id = p.inner.rank == 0 ? outer(g, ia, ib, &p, size) : contract(g, ia, ib, &p, size);
    y.labels = p.batch;
    add_all(&y.labels, &p.left);
    add_all(&y.labels, &p.right);
    return y;
}
