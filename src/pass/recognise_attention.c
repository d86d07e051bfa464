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

/* The operand of a reshape that is its only reader and keeps its last two axes. */
static takt_id unmoved(takt_uses u, takt_id id)
{
    const takt_node *n = takt_known_op(u.g, id, &takt_op_reshape);
    if (n == NULL || u.of[id] != 1)
        return id;
    const takt_type *to = n->type, *from = takt_type_of(u.g, n->in[0]);
    if (to->rank < 3 || from->rank < 3)
        return id;
    for (int d = 1; d <= 2; d++)
        if (!takt_dim_same(u.g->dims, to->dim[to->rank - d], from->dim[from->rank - d]))
            return id;
    return n->in[0];
}

/* The product of the scores behind known factors. */
static const takt_node *scores_of(takt_uses u, takt_id id, double *scale)
{
    return takt_known_op(u.g, unmoved(u, bare(u, id, scale)), &takt_op_matmul);
}

/* Scores [windows, heads, ...] to which a mask for each window was added as [1, windows, heads,
 * ...]: those before it, else `id`. */
static takt_id before_windows(takt_uses u, takt_id id, takt_id *windows)
{
    const takt_id inner = unmoved(u, id);
    const takt_node *sum = takt_known_op(u.g, inner, &takt_op_add);
    if (inner == id || sum == NULL || sum->type->rank != 5 || u.of[inner] != 1)
        return id;
    for (int k = 0; k < 2; k++) {
        const takt_id scores = unmoved(u, sum->in[k]);
        const takt_type *t = takt_type_of(u.g, sum->in[k]);
        const takt_type *mask = takt_type_of(u.g, sum->in[1 - k]);
        const takt_type *before = takt_type_of(u.g, scores);
        const bool is_mask = mask->rank == 5 && mask->dim[0] == 1 && mask->dim[2] == 1;
        if (scores == sum->in[k] || t->rank != 5 || t->dim[0] != 1 || !is_mask ||
            before->rank != 4 || !takt_dim_same(u.g->dims, t->dim[1], before->dim[0]) ||
            !takt_type_same(u.g->dims, before, takt_type_of(u.g, id)))
            continue;
        *windows = sum->in[1 - k];
        return scores;
    }
    return id;
}

static const char *read_scores(takt_uses u, const takt_node *product, takt_attended *a)
{
    const int rank = product->type->rank;
    if (rank != 3 && rank != 4)
        return "its products are not of three or four axes";
    a->is_transposed[Q] = takt_node_int(product, "transpose_a") != 0;
    a->is_transposed[K] = takt_node_int(product, "transpose_b") == 0;
    a->part[Q] = bare(u, product->in[0], &a->scale);
    a->part[K] = bare(u, product->in[1], &a->scale);
    const takt_type *q = takt_type_of(u.g, a->part[Q]);
    if (q->rank != rank || takt_type_of(u.g, a->part[K])->rank != rank)
        return "queries and keys differ in their axes";
    return takt_dim_is_number(q->dim[rank - (a->is_transposed[Q] ? 2 : 1)])
               ? NULL
               : "the width of its queries is not a number";
}

/* `id` as a constant, perhaps behind a cast. */
static const takt_node *table_of(const takt_graph *g, takt_id id)
{
    const takt_node *n = takt_known_op(g, id, &takt_op_cast);
    return takt_known_op(g, n != NULL ? n->in[0] : id, &takt_op_constant);
}

static double element(const takt_node *table, size_t i)
{
    const void *data = takt_tensor_data(table->attr[0].tensor);
    const takt_dtype dtype = table->type->dtype;
    return takt_dtype_is_float(dtype) ? takt_dtype_get_f(dtype, data, i)
                                      : (double)takt_dtype_get_i(dtype, data, i);
}

/* Whether `keeps` is 1 where `hides` is 0, and vice versa. */
static bool is_opposite(const takt_graph *g, takt_id keeps, takt_id hides)
{
    enum { MOST = 1 << 22 }; /* elements that are compared */
    const takt_node *one = takt_known_op(g, keeps, &takt_op_cast);
    const takt_node *other = takt_known_op(g, hides, &takt_op_cast);
    const takt_node *turned = other != NULL ? takt_known_op(g, other->in[0], &takt_op_not) : NULL;
    if (one != NULL && turned != NULL && one->in[0] == turned->in[0])
        return true;
    const takt_node *kept = table_of(g, keeps), *hidden = table_of(g, hides);
    size_t count;
    if (kept == NULL || hidden == NULL || !takt_match_type(g, hides, takt_type_of(g, keeps)) ||
        !takt_type_count(kept->type, &count) || count > MOST)
        return false;
    for (size_t i = 0; i < count; i++) {
        const double at = element(kept, i);
        if ((at != 0 && at != 1) || element(hidden, i) != 1 - at)
            return false;
    }
    return true;
}

/* The scores in scores * kept + hidden * c, as Keras masks them: a score that c hides does not
 * contribute to any sum. TAKT_NONE: this is something else. */
static takt_id unmasked(takt_uses u, takt_id id, takt_id mask)
{
    const takt_node *product = takt_known_op(u.g, id, &takt_op_mul);
    double c = 1;
    takt_id hides;
    if (product == NULL || u.of[id] != 1 || !takt_known_scaled(u.g, mask, &hides, &c) || c > -1e30)
        return TAKT_NONE;
    for (int k = 0; k < 2; k++)
        if (is_opposite(u.g, product->in[k], hides))
            return product->in[1 - k];
    return TAKT_NONE;
}

/* The product behind `scores`, with or without a mask; `*plain` is the value before the mask was
 * added. */
static const takt_node *find_product(takt_uses u, takt_id scores, takt_attended *a, takt_id *plain)
{
    const takt_node *sum = takt_known_op(u.g, scores, &takt_op_add);
    const takt_node *product = scores_of(u, scores, &a->scale);
    *plain = scores;
    for (int k = 0; sum != NULL && product == NULL && k < 2; k++) {
        const takt_id kept = unmasked(u, sum->in[k], sum->in[1 - k]);
        *plain = kept != TAKT_NONE ? kept : sum->in[k];
        a->scale = 1;
        product = scores_of(u, *plain, &a->scale);
        a->mask = sum->in[1 - k];
    }
    return product;
}

const char *takt_match_attention(takt_uses u, takt_id root, takt_attended *a)
{
    const takt_node *n = takt_known_op(u.g, root, &takt_op_matmul);
    const takt_id at = n == NULL ? TAKT_NONE : unmoved(u, n->in[0]);
    const takt_node *soft = n == NULL ? NULL : takt_known_op(u.g, at, &takt_op_softmax);
    if (soft == NULL)
        return "";
    const int64_t axis = takt_node_int(soft, "axis");
    *a = (takt_attended){.mask = TAKT_NONE, .windows = TAKT_NONE, .soft = at, .scale = 1};
    takt_id plain;
    const takt_id scores = before_windows(u, soft->in[0], &a->windows);
    const takt_node *product = find_product(u, scores, a, &plain);
    if (product == NULL)
        return takt_known_op(u.g, scores, &takt_op_select) != NULL
                   ? "its mask is a selection, which gives a row of absent keys another value"
                   : "what softmax reads is not a product";
    if (axis != -1 && axis != soft->type->rank - 1)
        return "softmax is not over the last axis";
    if (u.of[at] != 1 || u.of[scores] != 1 || u.of[plain] != 1 || u.of[product - u.g->nodes] != 1)
        return "a value inside it is used elsewhere too";
    if (!takt_type_same(u.g->dims, takt_type_of(u.g, plain), soft->type))
        return "its mask makes the scores larger";
    if (n->type->dtype != TAKT_F32)
        return "its kernels are for f32";
    if (takt_node_int(n, "transpose_a") != 0)
        return "its weights are transposed";
    if (takt_type_of(u.g, n->in[1])->rank != n->type->rank || product->type->rank != n->type->rank)
        return "its two products differ in their axes";
    if (!takt_dim_is_number(n->type->dim[n->type->rank - 1]))
        return "the width of its values is not a number";
    a->is_transposed[V] = takt_node_int(n, "transpose_b") != 0;
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

static takt_id call(takt_graph *g, const takt_id in[4], int64_t heads, int64_t shared, double scale)
{
    const takt_named_attr attrs[] = {{"heads", takt_attr_i64(heads)},
                                     {"kv_heads", takt_attr_i64(shared)},
                                     {"scale", takt_attr_f64(scale)}};
    return takt_graph_call(g, &takt_op_attention, in[3] == TAKT_NONE ? 3 : 4, in, 3, attrs);
}

/* The mask of every sample and head, or TAKT_NONE. */
static takt_id whole_mask(takt_rewrite *r, const takt_attended *a)
{
    const takt_id mask = a->mask == TAKT_NONE ? TAKT_NONE : r->map[a->mask];
    if (a->windows == TAKT_NONE)
        return mask;
    const takt_type t = *takt_type_of(r->out, r->map[a->windows]);
    const takt_id windows = takt_reshape(r->out, r->map[a->windows], t.dim + 1, 4);
    return mask == TAKT_NONE ? windows : takt_add(r->out, mask, windows);
}

/* Whether all parts come from rows, and a mask matches their samples and heads. */
static bool find_rows(const takt_rewrite *r, const takt_attended *a, takt_heads found[3],
                      int64_t shared[3])
{
    static const int64_t last[4] = {0, 1, 3, 2};
    const takt_graph *g = r->in;
    const takt_type *soft = takt_type_of(g, a->soft);
    for (int k = 0; k < 3; k++) {
        bool is_transposed = a->is_transposed[k];
        takt_id id = a->part[k];
        if (k == K && is_transposed && is_perm(g, id, last) &&
            takt_known_op(g, g->nodes[id].in[0], &takt_op_reshape) != NULL) {
            id = g->nodes[id].in[0];
            is_transposed = false;
        }
        shared[k] = -1;
        id = k == Q || is_transposed ? id : shared_of(g, id, &shared[k]);
        if (!takt_find_heads(g, id, is_transposed, &found[k]) ||
            !takt_dim_is_number(found[k].heads) ||
            !takt_dim_same(g->dims, found[k].batch, found[Q].batch) ||
            found[k].heads != (shared[k] < 0 ? found[Q].heads : shared[k]))
            return false;
        shared[k] = found[k].heads;
    }
    const bool is_masked = a->mask != TAKT_NONE || a->windows != TAKT_NONE;
    return shared[K] == shared[V] &&
           (!is_masked ||
            (soft->rank == 4 && takt_dim_same(g->dims, soft->dim[0], found[Q].batch) &&
             soft->dim[1] == found[Q].heads));
}

/* Heads split from rows are read in place. */
static takt_id from_rows(takt_rewrite *r, const takt_attended *a)
{
    static const int64_t back[4] = {0, 2, 1, 3};
    takt_graph *g = r->out;
    const takt_type root = *r->in->nodes[r->id].type;
    takt_heads part[3];
    int64_t shared[3];
    takt_id in[4];
    if (!find_rows(r, a, part, shared))
        return TAKT_NONE;
    for (int k = 0; k < 3; k++)
        in[k] = takt_make_rows(r, &part[k]);
    in[3] = whole_mask(r, a);
    takt_id y = call(g, in, part[Q].heads, shared[K], a->scale);
    if (y == TAKT_NONE)
        return y;
    const takt_dim cut[4] = {part[Q].batch, part[Q].rows, part[Q].heads, part[V].dim};
    y = takt_transpose(g, takt_reshape(g, y, cut, 4), back, 4);
    return y == TAKT_NONE || takt_type_same(g->dims, takt_type_of(g, y), &root)
               ? y
               : takt_reshape(g, y, root.dim, (size_t)root.rank);
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
    takt_id in[4] = {r->map[a->part[Q]], r->map[a->part[K]], r->map[a->part[V]], TAKT_NONE};
    for (int k = 0; k < 3; k++)
        if (!same_lead(r->in, r->id, a->part[k])) { /* a product may pair every head with every */
            *why = "keys or values are shared by several heads";
            return TAKT_NONE;
        }
    const takt_id by_rows = from_rows(r, a);
    if (by_rows != TAKT_NONE || g->status != TAKT_OK)
        return by_rows;
    if (a->windows != TAKT_NONE ||
        (a->mask != TAKT_NONE && takt_type_of(r->in, a->soft)->rank != root.rank)) {
        *why = "its mask has other axes than its products, whose heads were not cut from rows";
        return TAKT_NONE;
    }
    if (a->mask != TAKT_NONE && !flat_mask(g, r->map[a->mask], root.rank, &in[3])) {
        *why = "its mask differs between heads, which were not cut from rows";
        return TAKT_NONE;
    }
    for (int k = 0; k < 3; k++)
        in[k] = flat(g, a->is_transposed[k] ? transposed_back(g, in[k]) : in[k]);
    const takt_id y = call(g, in, 1, 1, a->scale);
    return y == TAKT_NONE ? y : takt_reshape(g, y, root.dim, (size_t)root.rank);
}
