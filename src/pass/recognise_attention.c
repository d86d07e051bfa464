/* recognise_attention.c - attention written as two products around a softmax. */
#include "op/util/make.h"
#include "pass/recognise.h"

enum { Q = TAKT_ATTENDED_Q, K = TAKT_ATTENDED_K, V = TAKT_ATTENDED_V };

/* Strips known factors from a value without other readers. */
static takt_id bare(takt_uses u, takt_id id, double *scale)
{
    takt_id x = id;
    while (u.of[id] == 1 && takt_known_scaled(u.g, id, &x, scale))
        id = x;
    return id;
}

/* The product of the scores behind known factors. */
static const takt_node *scores_of(takt_uses u, takt_id id, double *scale)
{
    return takt_known_op(u.g, bare(u, id, scale), &takt_op_matmul);
}

static const char *read_scores(takt_uses u, const takt_node *product, takt_attended *a)
{
    const int rank = product->type->rank;
    if (takt_node_int(product, "transpose_a") != 0)
        return "the queries are transposed";
    if (rank != 3 && rank != 4)
        return "its products are not of three or four axes";
    a->is_transposed = takt_node_int(product, "transpose_b") == 0;
    a->part[Q] = bare(u, product->in[0], &a->scale);
    a->part[K] = bare(u, product->in[1], &a->scale);
    return takt_type_of(u.g, a->part[Q])->rank == rank &&
                   takt_type_of(u.g, a->part[K])->rank == rank
               ? NULL
               : "queries and keys differ in their axes";
}

const char *takt_match_attention(takt_uses u, takt_id root, takt_attended *a)
{
    const takt_node *n = takt_known_op(u.g, root, &takt_op_matmul);
    const takt_node *soft = n == NULL ? NULL : takt_known_op(u.g, n->in[0], &takt_op_softmax);
    const takt_node *moved = n == NULL ? NULL : takt_known_op(u.g, n->in[0], &takt_op_reshape);
    if (moved != NULL && takt_known_op(u.g, moved->in[0], &takt_op_softmax) != NULL)
        return "its softmax has other axes than its products";
    if (soft == NULL)
        return "";
    const int64_t axis = takt_node_int(soft, "axis");
    const int rank = n->type->rank;
    *a = (takt_attended){.mask = TAKT_NONE, .scale = 1};
    takt_id scores = soft->in[0];
    const takt_node *sum = takt_known_op(u.g, scores, &takt_op_add);
    const takt_node *product = scores_of(u, scores, &a->scale);
    for (int k = 0; sum != NULL && product == NULL && k < 2; k++) {
        a->scale = 1;
        product = scores_of(u, sum->in[k], &a->scale);
        a->mask = sum->in[1 - k];
    }
    if (product == NULL)
        return takt_known_op(u.g, scores, &takt_op_select) != NULL
                   ? "its mask is a selection, which gives a row of absent keys another value"
                   : "what softmax reads is not a product";
    if (axis != -1 && axis != rank - 1)
        return "softmax is not over the last axis";
    if (u.of[n->in[0]] != 1 || (sum != NULL && u.of[scores] != 1) ||
        u.of[product - u.g->nodes] != 1)
        return "a value inside it is used elsewhere too";
    if (!takt_type_same(u.g->dims, product->type, soft->type))
        return "its mask makes the scores larger";
    if (n->type->dtype != TAKT_F32)
        return "its kernels are for f32";
    if (takt_node_int(n, "transpose_a") != 0 || takt_node_int(n, "transpose_b") != 0 ||
        takt_type_of(u.g, n->in[1])->rank != rank)
        return "the values are transposed";
    a->part[V] = n->in[1];
    return read_scores(u, product, a);
}

/* ---- what it becomes ---- */

static bool is_perm(const takt_graph *g, takt_id id, const int64_t perm[4])
{
    const takt_node *n = takt_known_op(g, id, &takt_op_transpose);
    const takt_attr *given = n != NULL ? takt_node_attr(n, "perm") : NULL;
    if (given == NULL || given->count != 4)
        return false;
    for (int i = 0; i < 4; i++)
        if (given->i64s[i] != perm[i])
            return false;
    return true;
}

/* Keys or values that are repeated for several heads: [batch, kv, rows, dim] before that, else the
 * value itself. */
static takt_id shared_of(const takt_graph *g, takt_id id, int64_t *shared)
{
    const takt_node *flat = takt_known_op(g, id, &takt_op_reshape);
    const takt_node *wide = flat != NULL ? takt_known_op(g, flat->in[0], &takt_op_broadcast) : NULL;
    const takt_node *apart = wide != NULL ? takt_known_op(g, wide->in[0], &takt_op_reshape) : NULL;
    if (apart == NULL || wide->type->rank != 5 || apart->type->rank != 5 || flat->type->rank != 4)
        return id;
    const takt_type *from = takt_type_of(g, apart->in[0]);
    const takt_type *t = apart->type;
    bool fits = from->rank == 4 && t->dim[2] == 1 && takt_dim_is_number(from->dim[1]);
    for (int d = 0; d < 4 && fits; d++) {
        const int k = d < 2 ? d : d + 1;
        fits = t->dim[k] == from->dim[d] && wide->type->dim[k] == from->dim[d] &&
               (d == 1 || flat->type->dim[d] == from->dim[d]);
    }
    if (!fits)
        return id;
    *shared = from->dim[1];
    return apart->in[0];
}

/* The rows that heads were split from, [batch, rows, heads, dim], if `id` is their transpose. */
static takt_id rows_of(const takt_graph *g, takt_id id, bool is_transposed)
{
    static const int64_t plain[4] = {0, 2, 1, 3}, transposed[4] = {0, 2, 3, 1};
    return is_perm(g, id, is_transposed ? transposed : plain) ? g->nodes[id].in[0] : TAKT_NONE;
}

/* Whether rows are those of every sample and head of the result. */
static bool is_all(const takt_graph *g, takt_id rows, takt_dim batch, int64_t heads)
{
    const takt_type *t = takt_type_of(g, rows);
    return takt_dim_same(g->dims, t->dim[0], batch) && t->dim[2] == heads;
}

static takt_id merged(takt_graph *g, takt_id rows)
{
    const takt_type t = *takt_type_of(g, rows);
    const takt_dim dims[3] = {t.dim[0], t.dim[1], takt_make_product(g, t.dim + 2, 2)};
    return takt_reshape(g, rows, dims, 3);
}

static takt_id call(takt_graph *g, const takt_id in[4], int64_t heads, int64_t shared, double scale)
{
    const takt_named_attr attrs[] = {{"heads", takt_attr_i64(heads)},
                                     {"kv_heads", takt_attr_i64(shared)},
                                     {"scale", takt_attr_f64(scale)}};
    return takt_graph_call(g, &takt_op_attention, in[3] == TAKT_NONE ? 3 : 4, in, 3, attrs);
}

/* Heads split from rows are read in place. */
static takt_id from_rows(takt_rewrite *r, const takt_attended *a)
{
    static const int64_t last[4] = {0, 1, 3, 2}, back[4] = {0, 2, 1, 3};
    takt_graph *g = r->out;
    const takt_type root = *r->in->nodes[r->id].type;
    int64_t shared[3] = {0};
    takt_id in[4];
    if (root.rank != 4 || !takt_dim_is_number(root.dim[1]))
        return TAKT_NONE;
    for (int k = 0; k < 3; k++) {
        bool is_transposed = k == K && a->is_transposed;
        takt_id id = a->part[k];
        if (is_transposed && is_perm(r->in, id, last) &&
            takt_known_op(r->in, r->in->nodes[id].in[0], &takt_op_reshape) != NULL) {
            id = r->in->nodes[id].in[0];
            is_transposed = false;
        }
        shared[k] = root.dim[1];
        id = k == Q || is_transposed ? id : shared_of(r->in, id, &shared[k]);
        const takt_id rows = rows_of(r->in, id, is_transposed);
        if (rows == TAKT_NONE || !is_all(r->in, rows, root.dim[0], shared[k]))
            return TAKT_NONE;
        in[k] = r->map[rows];
    }
    if (shared[K] != shared[V])
        return TAKT_NONE;
    for (int k = 0; k < 3; k++)
        in[k] = merged(g, in[k]);
    in[3] = a->mask == TAKT_NONE ? TAKT_NONE : r->map[a->mask];
    const takt_id y = call(g, in, root.dim[1], shared[K], a->scale);
    if (y == TAKT_NONE)
        return y;
    const takt_dim cut[4] = {root.dim[0], root.dim[2], root.dim[1], root.dim[3]};
    return takt_transpose(g, takt_reshape(g, y, cut, 4), back, 4);
}

/* The mask if heads are separate samples: [1 or batch, 1, queries, keys]. */
static bool flat_mask(takt_graph *g, takt_id given, int rank, takt_id *mask)
{
    takt_type t = *takt_type_of(g, given);
    takt_dim dims[4] = {1, 1, 1, 1};
    if (t.rank > rank)
        return false;
    if (rank == 4) {
        for (int d = 0; d + 2 < t.rank; d++)
            if (t.dim[d] != 1)
                return false;
        *mask = given;
        return true;
    }
    for (int d = 0; d < t.rank; d++) /* [batch, queries, keys], aligned at the end */
        dims[4 - t.rank + d - (t.rank == 3 && d == 0)] = t.dim[d];
    if (t.rank == 3)
        dims[1] = 1;
    *mask = takt_reshape(g, given, dims, 4);
    return true;
}

/* [batch, heads, rows, dim] or [batch, rows, dim] as samples with one head each. */
static takt_id flat(takt_graph *g, takt_id id)
{
    if (id == TAKT_NONE)
        return id;
    const takt_type t = *takt_type_of(g, id);
    const takt_dim dims[3] = {takt_make_product(g, t.dim, t.rank - 2), t.dim[t.rank - 2],
                              t.dim[t.rank - 1]};
    return t.rank == 3 ? id : takt_reshape(g, id, dims, 3);
}

static takt_id transposed_back(takt_graph *g, takt_id id)
{
    static const int64_t three[3] = {0, 2, 1}, four[4] = {0, 1, 3, 2};
    const int rank = takt_type_of(g, id)->rank;
    return takt_transpose(g, id, rank == 3 ? three : four, (size_t)rank);
}

static bool same_lead(const takt_graph *g, takt_id a, takt_id b)
{
    const takt_type *x = takt_type_of(g, a), *y = takt_type_of(g, b);
    for (int d = 0; d + 2 < x->rank; d++)
        if (!takt_dim_same(g->dims, x->dim[d], y->dim[d]))
            return false;
    return true;
}

takt_id takt_make_attention(takt_rewrite *r, const takt_attended *a, const char **why)
{
    takt_graph *g = r->out;
    const takt_type root = *r->in->nodes[r->id].type;
    const takt_id by_rows = from_rows(r, a);
    takt_id in[4] = {r->map[a->part[Q]], r->map[a->part[K]], r->map[a->part[V]], TAKT_NONE};
    if (by_rows != TAKT_NONE || g->status != TAKT_OK)
        return by_rows;
    if (!same_lead(g, in[Q], in[K]) || !same_lead(g, in[Q], in[V])) {
        *why = "keys or values are shared by several heads";
        return TAKT_NONE;
    }
    if (a->mask != TAKT_NONE && !flat_mask(g, r->map[a->mask], root.rank, &in[3])) {
        *why = "its mask differs between heads, which were not cut from rows";
        return TAKT_NONE;
    }
    in[K] = a->is_transposed ? transposed_back(g, in[K]) : in[K];
    for (int k = 0; k < 3; k++)
        in[k] = flat(g, in[k]);
    const takt_id y = call(g, in, 1, 1, a->scale);
    return y == TAKT_NONE ? y : takt_reshape(g, y, root.dim, (size_t)root.rank);
}
