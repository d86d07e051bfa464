/* matmul.c - products of matrices over broadcast leading axes, as NumPy defines them.
 *
 * An input of rank 1 is a row on the left, a column on the right, and its axis is absent from the
 * result. Integers accumulate in 64 bits and wrap.
 */
#include "op/util/amp.h"
#include "op/util/bound.h"
#include "op/util/check.h"
#include "op/util/index.h"
#include "op/util/make.h"
#include "op/util/matrix.h"
#include "op/util/stops.h"

#include <string.h>

enum { TRANSPOSE_A, TRANSPOSE_B };

static takt_matrix axes_of(const takt_attr *attr, int rank_a, int rank_b)
{
    return takt_matrix_of(rank_a, rank_b, attr[TRANSPOSE_A].boolean, attr[TRANSPOSE_B].boolean);
}

static takt_status mismatch(takt_infer *in, const char *what)
{
    char a[TAKT_TYPE_TEXT], b[TAKT_TYPE_TEXT];
    return takt_fail(in->ctx, TAKT_E_SHAPE, "matmul: %s differ: lhs is %s%s, rhs is %s%s", what,
                     takt_type_text(in->dims, in->type[0], a),
                     in->attr[TRANSPOSE_A].boolean ? " transposed" : "",
                     takt_type_text(in->dims, in->type[1], b),
                     in->attr[TRANSPOSE_B].boolean ? " transposed" : "");
}

/* If the inner dimensions would fit after transposing one side, the message says so. */
static takt_status inner_mismatch(takt_infer *in, const takt_matrix *m)
{
    const takt_type *a = in->type[0], *b = in->type[1];
    mismatch(in, "inner dimensions");
    if (m->b_column >= 0 && takt_dim_same(in->dims, a->dim[m->a_inner], b->dim[m->b_column]))
        return takt_fail_hint(in->ctx, "transpose_b=%s would fit",
                              in->attr[TRANSPOSE_B].boolean ? "false" : "true");
    if (m->a_row >= 0 && takt_dim_same(in->dims, a->dim[m->a_row], b->dim[m->b_inner]))
        return takt_fail_hint(in->ctx, "transpose_a=%s would fit",
                              in->attr[TRANSPOSE_A].boolean ? "false" : "true");
    return takt_fail_hint(in->ctx, "the last dimension of lhs must equal the last but one of rhs");
}

static takt_status infer(takt_infer *in)
{
    for (size_t i = 0; i < 2; i++) {
        TAKT_TRY(takt_infer_rank(in, i, 1, TAKT_MAX_RANK));
        if (in->type[i]->rank == 1 && in->attr[TRANSPOSE_A + i].boolean)
            return takt_fail(in->ctx, TAKT_E_ATTR, "matmul: %s has rank 1, nothing to transpose",
                             in->op->attrs[TRANSPOSE_A + i].name);
    }
    const takt_type *a = in->type[0], *b = in->type[1];
    const takt_matrix m = axes_of(in->attr, a->rank, b->rank);
    bool agree = false;
    TAKT_TRY(takt_check_agree(in, a->dim[m.a_inner], b->dim[m.b_inner], &agree));
    if (!agree)
        return inner_mismatch(in, &m);
    takt_type *out = &in->out[0];
    takt_type other = *b;
    *out = *a;
    out->rank = m.a_batch;
    other.rank = m.b_batch;
    TAKT_TRY(takt_type_broadcast(in->dims, out, &other, &agree));
    if (!agree)
        return mismatch(in, "leading dimensions");
    if (m.a_row >= 0)
        out->dim[out->rank++] = a->dim[m.a_row];
    if (m.b_column >= 0)
        out->dim[out->rank++] = b->dim[m.b_column];
    return TAKT_OK;
}

/* The leading coordinates of `a` for `index` of the result, which has `batch` leading axes. */
static void lead_index(const takt_array *a, int own, const int64_t *index, int batch, int64_t *to)
{
    for (int d = 0; d < own; d++)
        to[d] = a->dim[d] == 1 ? 0 : index[d + batch - own];
}

static takt_status eval(takt_eval *e)
{
    const takt_array *a = &e->in[0], *b = &e->in[1];
    takt_array *out = &e->out[0];
    const takt_matrix m = axes_of(e->attr, a->rank, b->rank);
    const int batch = m.a_batch > m.b_batch ? m.a_batch : m.b_batch;
    int64_t index[TAKT_MAX_RANK], ia[TAKT_MAX_RANK] = {0}, ib[TAKT_MAX_RANK] = {0};
    for (size_t i = 0; i < out->count; i++) {
        takt_index_at(out, i, index);
        lead_index(a, m.a_batch, index, batch, ia);
        lead_index(b, m.b_batch, index, batch, ib);
        if (m.a_row >= 0)
            ia[m.a_row] = index[batch];
        if (m.b_column >= 0)
            ib[m.b_column] = index[out->rank - 1];
        for (int64_t k = 0; k < a->dim[m.a_inner] && !takt_eval_stops(e, 1); k++) {
            ia[m.a_inner] = ib[m.b_inner] = k;
            takt_index_add_product(out, i, a, takt_index_flat(a, ia), b, takt_index_flat(b, ib));
        }
    }
    return TAKT_OK;
}

/* A vector as the matrix that it represents. */
static takt_id as_matrix(takt_graph *g, takt_id x, bool is_row)
{
    const takt_type *t = takt_type_of(g, x);
    if (t->rank != 1)
        return x;
    const takt_dim dims[2] = {is_row ? 1 : t->dim[0], is_row ? t->dim[0] : 1};
    return takt_reshape(g, x, dims, 2);
}

/* [..., k] as [product, k]. */
static takt_id flat(takt_graph *g, takt_id x)
{
    const takt_type *t = takt_type_of(g, x);
    const takt_dim dims[2] = {takt_make_product(g, t->dim, t->rank - 1), t->dim[t->rank - 1]};
    return takt_reshape(g, x, dims, 2);
}

static takt_id grad_a(takt_graph *g, takt_id b, takt_id dy, bool ta, bool tb)
{
    return ta ? takt_matmul(g, b, dy, tb, true) : takt_matmul(g, dy, b, false, !tb);
}

/* A weight shared by all leading axes is one contraction over all of them, not a sum of many. */
static takt_id grad_b(takt_graph *g, takt_id a, takt_id dy, bool ta, bool tb)
{
    return tb ? takt_matmul(g, dy, a, true, ta) : takt_matmul(g, a, dy, !ta, false);
}

static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_node n = *takt_node_at(g, id);
    const bool ta = n.attr[TRANSPOSE_A].boolean, tb = n.attr[TRANSPOSE_B].boolean;
    const takt_type *type_a = takt_type_of(g, n.in[0]), *type_b = takt_type_of(g, n.in[1]);
    takt_id a = as_matrix(g, n.in[0], true), b = as_matrix(g, n.in[1], false), d = dy[0];
    if (type_a->rank == 1 || type_b->rank == 1) {
        takt_type full = n.type[0]; /* the result with the axis of rank 1 put back */
        if (type_b->rank == 1)
            full.dim[full.rank++] = 1;
        if (type_a->rank == 1) {
            full.dim[full.rank] = full.dim[full.rank - 1];
            full.dim[full.rank++ - 1] = 1;
        }
        d = takt_reshape(g, d, full.dim, (size_t)full.rank);
    }
    if (a == TAKT_NONE || b == TAKT_NONE || d == TAKT_NONE)
        return;
    const bool shared = type_b->rank == 2 && type_a->rank > 2 && !ta;
    /* That of weights first: then lhs is often read for the last time before its gradient, which
     * is as large, is made. */
    const takt_id db = shared ? grad_b(g, flat(g, a), flat(g, d), ta, tb)
                              : takt_sum_to(g, grad_b(g, a, d, ta, tb), b);
    const takt_id da = takt_sum_to(g, grad_a(g, b, d, ta, tb), a);
    dx[0] = takt_reshape_like(g, da, n.in[0]);
    dx[1] = takt_reshape_like(g, db, n.in[1]);
}

static void cost(const takt_graph *g, const takt_node *n, takt_cost *cost)
{
    const takt_type *a = takt_type_of(g, n->in[0]), *b = takt_type_of(g, n->in[1]);
    const takt_matrix m = axes_of(n->attr, a->rank, b->rank);
    const takt_dim inner = a->dim[m.a_inner];
    cost->flops = 2 * takt_make_count(&n->type[0]) * (double)(inner > 0 ? inner : 0);
    cost->bytes = takt_make_bytes(g, n);
}

const takt_op takt_op_matmul = {
    .name = "matmul",
    .summary = "matrix product over the last two axes, leading axes broadcast",
    .onnx = {{"MatMul", 1, 0}},
    .in_min = 2,
    .in_max = 2,
    .in_names = {"lhs", "rhs"},
    .attrs = {[TRANSPOSE_A] = {.name = "transpose_a",
                               .type = TAKT_ATTR_BOOL,
                               .summary = "swap the last two axes of lhs first"},
              [TRANSPOSE_B] = {.name = "transpose_b",
                               .type = TAKT_ATTR_BOOL,
                               .summary = "swap the last two axes of rhs first"}},
    .traits = TAKT_PRIMITIVE | TAKT_CONTRACTS | TAKT_AMP_FACTORS,
    .dtypes = TAKT_NUMBERS,
    .infer = infer,
    .eval = eval,
    .grad = grad,
    .cost = cost,
    .bound = takt_bound_product,
    .error.roundings = takt_roundings_matmul,
    .affine = 3,
    .samples = {"matmul(f32[3, 5], f32[5, 2])",
                "matmul(f64[5, 3], f64[2, 5], transpose_a=true, "
                "transpose_b=true)",
                "matmul(f32[2, 1, 3, 4], f32[5, 4, 1])", "matmul(f32[2, 3, 4], f32[4, 5])",
                "matmul(f32[7], f32[7])", "matmul(f32[2, 3, 4], f32[4])",
                "matmul(f32[4], f32[3, 4, 2])",
                "matmul(i32[3, 300] in (-9, 9), i32[300, 2] in (-9, 9))",
                "matmul(f32[2, 5, 3], f32[4, 5], transpose_a=true, transpose_b=true)",
                "matmul(bf16[2, 0], bf16[0, 3])"},
};
