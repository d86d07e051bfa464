/* recognise_scores.c - scores with several masks, masks of merged axes, or a factor for each head.
 *
 * BLOOM adds its slopes before heads are apart and the mask behind that; relative positions are
 * added before the product is scaled, or to rows and columns of pictures; Swin v2 has a factor for
 * each head. */
#include "op/util/formula.h"
#include "op/util/make.h"
#include "pass/recognise.h"

enum { DEPTH = 8 };

static const takt_node *peel(takt_uses u, takt_id id, double scale, int depth, takt_attended *a);

/* The product behind a factor for each head. */
static const takt_node *gained(takt_uses u, const takt_node *n, double scale, takt_attended *a)
{
    for (int k = 0; k < 2; k++) {
        const takt_type *t = takt_type_of(u.g, n->in[k]);
        const takt_node *product = takt_known_op(u.g, n->in[1 - k], &takt_op_matmul);
        if (product != NULL && t->rank >= 2 && t->dim[t->rank - 1] == 1 &&
            t->dim[t->rank - 2] == 1 && takt_type_same(u.g->dims, product->type, n->type)) {
            a->gain = n->in[k];
            a->scale = scale;
            return product;
        }
    }
    return NULL;
}

static const takt_node *summed(takt_uses u, takt_id id, double scale, int depth, takt_attended *a)
{
    const takt_node *n = &u.g->nodes[id];
    const int sides = n->op == &takt_op_sub ? 1 : 2;
    for (int k = 0; k < sides; k++) {
        const takt_attended before = *a;
        const takt_node *product = takt_type_same(u.g->dims, takt_type_of(u.g, n->in[k]), n->type)
                                       ? peel(u, n->in[k], scale, depth, a)
                                       : NULL;
        if (product != NULL && a->terms < TAKT_ATTENDED_TERMS) {
            a->term[a->terms++] = (takt_term){n->in[1 - k], id, sides == 1 ? -scale : scale};
            return product;
        }
        *a = before;
    }
    return NULL;
}

static const takt_node *peel(takt_uses u, takt_id id, double scale, int depth, takt_attended *a)
{
    takt_id inner = id;
    while (u.of[id] == 1 && takt_known_scaled(u.g, id, &inner, &scale))
        id = inner;
    const takt_node *n = &u.g->nodes[id];
    if (u.of[id] != 1 || depth == DEPTH)
        return NULL;
    if (n->op == &takt_op_matmul) {
        a->scale = scale;
        return n;
    }
    if (n->op == &takt_op_reshape)
        return peel(u, n->in[0], scale, depth + 1, a);
    if (n->op == &takt_op_mul)
        return gained(u, n, scale, a);
    return n->op == &takt_op_add || n->op == &takt_op_sub ? summed(u, id, scale, depth + 1, a)
                                                          : NULL;
}

const takt_node *takt_find_scores(takt_uses u, takt_id scores, takt_attended *found)
{
    return peel(u, scores, 1, 0, found);
}

/* `mask`, which was added to values of type `sum`, for the same values as `soft`. Where rows and
 * keys are the last axes of both, the others need not exist. */
static takt_id aligned(takt_graph *g, takt_id mask, const takt_type *sum, const takt_type *soft)
{
    if (mask == TAKT_NONE || takt_type_same(g->dims, sum, soft))
        return mask;
    const takt_type t = *takt_type_of(g, mask);
    bool is_alike = sum->rank >= 2, is_shared = true;
    for (int d = 1; d <= 2 && is_alike; d++)
        is_alike = takt_dim_same(g->dims, sum->dim[sum->rank - d], soft->dim[soft->rank - d]);
    for (int d = 0; d < t.rank - 2; d++)
        is_shared = is_shared && t.dim[d] == 1;
    if (is_alike && is_shared && t.rank >= 2)
        return takt_reshape(g, mask, t.dim + t.rank - 2, 2);
    return takt_reshape(g, takt_broadcast(g, mask, sum->dim, (size_t)sum->rank), soft->dim,
                        (size_t)soft->rank);
}

static takt_id joined(takt_graph *g, takt_id a, takt_id b)
{
    return a == TAKT_NONE ? b : takt_add(g, a, b);
}

takt_id takt_make_terms(takt_rewrite *r, const takt_attended *a)
{
    takt_graph *g = r->out;
    const takt_type soft = *takt_type_of(r->in, a->soft);
    takt_id all = TAKT_NONE, some = TAKT_NONE;
    for (size_t i = 0; i < a->terms; i++) {
        const takt_term *t = &a->term[i];
        const takt_type sum = *takt_type_of(r->in, t->sum);
        takt_id mask = takt_widen(g, r->map[t->mask]);
        if (t->factor != 1)
            mask = takt_mul(g, mask, takt_scalar_like(g, mask, t->factor));
        some = joined(g, some, mask);
        const takt_type *next = i + 1 < a->terms ? takt_type_of(r->in, a->term[i + 1].sum) : NULL;
        if (next != NULL && takt_type_same(g->dims, &sum, next))
            continue; /* of the same axes: added before they are changed */
        all = joined(g, all, aligned(g, some, &sum, &soft));
        some = TAKT_NONE;
    }
    return all;
}
