/* recognise_attention.c - attention written as two products around a softmax. */
#include <math.h>

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

/* Scores [images * windows, heads, ...] to which a mask for each window was added as [images,
 * windows, heads, ...]: those before it, else `id`. */
static takt_id before_windows(takt_uses u, takt_id id, takt_attended *a)
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
        if (scores == sum->in[k] || t->rank != 5 || !is_mask || before->rank != 4 ||
            !takt_dim_same(u.g->dims, t->dim[1], mask->dim[1]) ||
            !takt_dim_same(u.g->dims, t->dim[2], before->dim[1]) ||
            !takt_type_same(u.g->dims, before, takt_type_of(u.g, id)))
            continue;
        a->windows = sum->in[1 - k];
        a->images = t->dim[0];
        return scores;
    }
    return id;
}

static const char *read_scores(takt_uses u, const takt_node *product, takt_attended *a)
{
    const int rank = product->type->rank;
    const bool has_mask =
        a->mask != TAKT_NONE || a->terms > 0 || a->windows != TAKT_NONE || a->chosen != TAKT_NONE;
    if (rank < 3 || rank > (has_mask ? 4 : 5)) /* windows of heads, or heads of windows */
        return "its products are not of three or four axes, or five without a mask";
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

enum { LARGE = -10000 }; /* exp(LARGE - score) is 0 for every score that a mask keeps */

/* The scores in scores * kept + hidden * c, as Keras and tf2onnx write a select; TAKT_NONE: this is
 * something else. */
static takt_id unmasked(takt_uses u, takt_id id, takt_id mask, takt_id *hides)
{
    const takt_node *product = takt_known_op(u.g, id, &takt_op_mul);
    double c = 1;
    if (product == NULL || u.of[id] != 1 || !takt_known_scaled(u.g, mask, hides, &c) || c > LARGE)
        return TAKT_NONE;
    for (int k = 0; k < 2; k++)
        if (is_opposite(u.g, product->in[k], *hides))
            return product->in[1 - k];
    return TAKT_NONE;
}

/* The scores among which a condition selects, with a number of at most `most` for the others; else
 * `id`. */
static takt_id unselected(takt_uses u, takt_id id, double most, takt_attended *a)
{
    const takt_node *n = takt_known_op(u.g, id, &takt_op_select);
    for (uint32_t k = 1; n != NULL && u.of[id] == 1 && a->chosen == TAKT_NONE && k <= 2; k++) {
        double number = -INFINITY;
        const bool is_infinite = takt_match_value(u.g, n->in[k], number);
        if ((!is_infinite && (!takt_known_scalar(u.g, n->in[k], &number) || number > most)) ||
            !takt_match_type(u.g, n->in[3 - k], n->type))
            continue;
        a->chosen = n->in[0];
        a->is_kept = k == 2;
        a->hidden = number;
        return n->in[3 - k];
    }
    return id;
}

/* A sum with it is the number itself, whatever the score: a select and a mask can be added. */
static const double ABSORBING = -1e30;

/* The product behind `scores`, with or without a mask; `*plain` is the value before the mask was
 * added. */
static const takt_node *find_product(takt_uses u, takt_id scores, takt_attended *a, takt_id *plain)
{
    scores = unselected(u, scores, LARGE, a);
    const takt_id outer = a->chosen;
    const takt_node *sum = &u.g->nodes[scores];
    const takt_node *product = scores_of(u, scores, &a->scale);
    a->is_less = sum->op == &takt_op_sub;
    *plain = scores;
    if (u.of[scores] != 1 || (sum->op != &takt_op_add && !a->is_less))
        return product;
    for (int k = 0; product == NULL && k < (a->is_less ? 1 : 2); k++) {
        const takt_id kept =
            a->is_less ? TAKT_NONE : unmasked(u, sum->in[k], sum->in[1 - k], &a->mask);
        a->is_hidden = kept != TAKT_NONE;
        a->chosen = outer;
        *plain = a->is_hidden ? kept : unselected(u, sum->in[k], ABSORBING, a);
        a->is_inner = a->chosen != outer;
        a->scale = 1;
        product = scores_of(u, *plain, &a->scale);
        a->mask = a->is_hidden ? a->mask : sum->in[1 - k];
    }
    return product;
}

/* The weights without the zeros that take the place of a row that is not a number, as it is where
 * all keys are absent. */
static takt_id before_zeros(takt_uses u, takt_id id)
{
    const takt_node *n = takt_known_op(u.g, id, &takt_op_select);
    const takt_node *bad = n == NULL ? NULL : takt_known_op(u.g, n->in[0], &takt_op_is_nan);
    if (bad == NULL || bad->in[0] != n->in[2] || u.of[id] != 1 || u.of[n->in[0]] != 1 ||
        u.of[n->in[2]] != 2 || !takt_match_value(u.g, n->in[1], 0))
        return id;
    return n->in[2];
}

/* The weights that a product reads, which may be its second operand, transposed. */
static takt_id weights_of(takt_uses u, const takt_node *n, takt_attended *a, bool *is_alone)
{
    for (int k = 0; n != NULL && k < 2; k++) {
        const takt_id whole = unmoved(u, n->in[k]), at = before_zeros(u, whole);
        a->is_turned = k == 1;
        a->is_zeroed = at != whole;
        *is_alone = a->is_zeroed || u.of[at] == 1;
        if (takt_known_op(u.g, at, &takt_op_softmax) != NULL)
            return at;
    }
    return TAKT_NONE;
}

/* Values are the other operand of the product with the weights. */
static const char *read_values(takt_uses u, const takt_node *n, takt_attended *a)
{
    const bool is_flipped[2] = {takt_node_int(n, "transpose_a") != 0,
                                takt_node_int(n, "transpose_b") != 0};
    const int side = a->is_turned ? 0 : 1, rank = n->type->rank;
    if (is_flipped[1 - side] != a->is_turned)
        return "its weights are transposed";
    a->part[V] = n->in[side];
    a->is_transposed[V] = is_flipped[side] != a->is_turned;
    if (takt_type_of(u.g, a->part[V])->rank != rank)
        return "its two products differ in their axes";
    return takt_dim_is_number(n->type->dim[rank - 1 - a->is_turned])
               ? NULL
               : "the width of its values is not a number";
}

/* Whether rows and keys of a product are those that softmax reads, though lead axes may differ. */
static bool keeps_rows_and_keys(takt_uses u, const takt_type *product, const takt_type *soft)
{
    for (int d = 1; d <= 2; d++)
        if (product->rank < d || soft->rank < d ||
            !takt_dim_same(u.g->dims, product->dim[product->rank - d], soft->dim[soft->rank - d]))
            return false;
    return true;
}

const char *takt_match_attention(takt_uses u, takt_id root, takt_attended *a)
{
    const takt_node *n = takt_known_op(u.g, root, &takt_op_matmul);
    *a = (takt_attended){.mask = TAKT_NONE,
                         .chosen = TAKT_NONE,
                         .windows = TAKT_NONE,
                         .gain = TAKT_NONE,
                         .scale = 1};
    bool is_alone;
    const takt_id at = weights_of(u, n, a, &is_alone);
    if (at == TAKT_NONE)
        return "";
    const takt_node *soft = &u.g->nodes[at];
    const int64_t axis = takt_node_int(soft, "axis");
    a->soft = at;
    takt_id plain;
    const takt_id scores = before_windows(u, soft->in[0], a);
    const takt_attended before = *a;
    const takt_node *product = find_product(u, scores, a, &plain);
    if (product == NULL) {
        const takt_attended one = *a; /* for its reason */
        *a = before;
        product = takt_find_scores(u, plain = unselected(u, scores, LARGE, a), a);
        *a = product == NULL ? one : *a;
    }
    if (product == NULL)
        return takt_known_op(u.g, scores, &takt_op_select) != NULL && a->chosen == TAKT_NONE
                   ? "its mask selects something else than a large negative number"
                   : "what softmax reads is not a product";
    if (axis != -1 && axis != soft->type->rank - 1)
        return "softmax is not over the last axis";
    if (!is_alone || u.of[scores] != 1 || u.of[plain] != 1 || u.of[product - u.g->nodes] != 1)
        return "a value inside it is used elsewhere too";
    if (!takt_type_same(u.g->dims, takt_type_of(u.g, plain), soft->type))
        return "its mask makes the scores larger";
    if (takt_dtype_bits(n->type->dtype) > 32)
        return "its kernels are for f32";
    if (product->type->rank != n->type->rank)
        return "its two products differ in their axes";
    if (!keeps_rows_and_keys(u, product->type, soft->type))
        return "its scores are reshaped to other rows";
    const char *why = read_values(u, n, a);
    return why != NULL ? why : read_scores(u, product, a);
}
