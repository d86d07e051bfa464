/* recognise_joined.c - the attention that two products around a softmax become. */
#include <float.h>
#include <math.h>

#include "op/util/formula.h"
#include "op/util/make.h"
#include "pass/recognise.h"

enum { Q = TAKT_ATTENDED_Q, K = TAKT_ATTENDED_K, V = TAKT_ATTENDED_V };

static bool is_perm(const takt_graph *g, takt_id id, const int64_t *perm, uint32_t count)
{
    const takt_node *n = takt_known_op(g, id, &takt_op_transpose);
    const takt_attr *given = n != NULL ? takt_node_attr(n, "perm") : NULL;
    if (given == NULL || given->count != count)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (given->i64s[i] != perm[i])
            return false;
    return true;
}

/* The heads, split by a reshape, whose last two axes `id` swaps, perhaps with the first two merged
 * meanwhile; TAKT_NONE: it is something else. */
static takt_id transposed_of(const takt_graph *g, takt_id id)
{
    static const int64_t last[4] = {0, 1, 3, 2}, merged[3] = {0, 2, 1};
    if (is_perm(g, id, last, 4))
        return takt_known_op(g, g->nodes[id].in[0], &takt_op_reshape) != NULL ? g->nodes[id].in[0]
                                                                              : TAKT_NONE;
    const takt_node *split = takt_known_op(g, id, &takt_op_reshape);
    if (split == NULL || !is_perm(g, split->in[0], merged, 3))
        return TAKT_NONE;
    const takt_id flat = g->nodes[split->in[0]].in[0];
    const takt_node *merge = takt_known_op(g, flat, &takt_op_reshape);
    const takt_type *to = split->type, *three = takt_type_of(g, flat);
    const takt_type *from = merge == NULL ? to : takt_type_of(g, merge->in[0]);
    bool fits = merge != NULL && to->rank == 4 && from->rank == 4;
    for (int d = 0; fits && d < 2; d++)
        fits = takt_dim_same(g->dims, to->dim[d], from->dim[d]) &&
               takt_dim_same(g->dims, to->dim[3 - d], from->dim[2 + d]) &&
               takt_dim_same(g->dims, three->dim[1 + d], from->dim[2 + d]);
    return fits ? merge->in[0] : TAKT_NONE;
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

/* In 16 bits it is computed in f32 and rounded once. */
static takt_id call(takt_graph *g, const takt_id from[4], int64_t heads, int64_t shared,
                    double scale)
{
    takt_id in[4];
    for (int k = 0; k < 4; k++)
        in[k] = takt_widen(g, from[k]);
    const takt_named_attr attrs[] = {{"heads", takt_attr_i64(heads)},
                                     {"kv_heads", takt_attr_i64(shared)},
                                     {"scale", takt_attr_f64(scale)}};
    const takt_id y =
        takt_graph_call(g, &takt_op_attention, in[3] == TAKT_NONE ? 3 : 4, in, 3, attrs);
    return y == TAKT_NONE ? y : takt_cast(g, y, takt_type_of(g, from[Q])->dtype);
}

/* The mask, or 0, for the scores that a select keeps. For others it has the lowest number whatever
 * the model has: scores vanish against it, so a row without keys has equal weights, as the select
 * gives. */
static takt_id chosen_mask(takt_rewrite *r, const takt_attended *a, takt_id mask)
{
    takt_graph *g = r->out;
    const takt_id like = takt_widen(g, r->map[a->part[Q]]);
    const bool is_exact = a->is_inner || isinf(a->hidden);
    const takt_id zero = takt_scalar_like(g, like, 0),
                  low = takt_scalar_like(g, like, is_exact ? a->hidden : -FLT_MAX),
                  kept = mask == TAKT_NONE || a->is_inner ? zero : mask;
    const takt_id in[3] = {r->map[a->chosen], a->is_kept ? kept : low, a->is_kept ? low : kept};
    const takt_id chosen = takt_graph_call(g, &takt_op_select, 3, in, 0, NULL);
    return mask != TAKT_NONE && a->is_inner ? takt_add(g, mask, chosen) : chosen;
}

/* Masks of windows, repeated for every image: [images * windows, 1, rows, keys]. */
static takt_id window_mask(takt_rewrite *r, const takt_attended *a)
{
    takt_type t = *takt_type_of(r->out, r->map[a->windows]);
    takt_id mask = takt_widen(r->out, r->map[a->windows]);
    t.dim[0] = a->images;
    if (a->images != 1)
        mask = takt_broadcast(r->out, mask, t.dim, 5);
    t.dim[1] = takt_make_product(r->out, t.dim, 2);
    return takt_reshape(r->out, mask, t.dim + 1, 4);
}

/* The mask of every sample and head, or TAKT_NONE. */
static takt_id whole_mask(takt_rewrite *r, const takt_attended *a)
{
    takt_id mask =
        a->mask == TAKT_NONE ? takt_make_terms(r, a) : takt_widen(r->out, r->map[a->mask]);
    if (a->mask != TAKT_NONE && a->is_less)
        mask = takt_unary(r->out, &takt_op_neg, mask);
    if (a->mask != TAKT_NONE && a->is_hidden)
        mask = takt_mul(r->out, mask, takt_scalar_like(r->out, mask, -FLT_MAX));
    if (a->chosen != TAKT_NONE)
        mask = chosen_mask(r, a, mask);
    if (a->windows == TAKT_NONE)
        return mask;
    const takt_id windows = window_mask(r, a);
    return mask == TAKT_NONE ? windows : takt_add(r->out, mask, windows);
}

static bool has_mask(const takt_attended *a)
{
    return a->mask != TAKT_NONE || a->terms > 0 || a->windows != TAKT_NONE ||
           a->chosen != TAKT_NONE;
}

/* Whether all parts come from rows, and a mask matches their samples and heads. */
static bool find_rows(const takt_rewrite *r, const takt_attended *a, takt_heads found[3],
                      int64_t shared[3])
{
    const takt_graph *g = r->in;
    const takt_type *soft = takt_type_of(g, a->soft);
    for (int k = 0; k < 3; k++) {
        takt_id id = a->is_transposed[k] ? transposed_of(g, a->part[k]) : TAKT_NONE;
        const bool is_transposed = a->is_transposed[k] && id == TAKT_NONE;
        id = id == TAKT_NONE ? a->part[k] : id;
        shared[k] = -1;
        id = k == Q || is_transposed ? id : shared_of(g, id, &shared[k]);
        if (!takt_find_heads(g, id, is_transposed, &found[k]) ||
            !takt_dim_is_number(found[k].heads) ||
            !takt_dim_same(g->dims, found[k].batch, found[Q].batch) ||
            found[k].heads != (shared[k] < 0 ? found[Q].heads : shared[k]))
            return false;
        shared[k] = found[k].heads;
    }
    const bool is_masked = has_mask(a);
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
    if (a->is_turned || a->gain != TAKT_NONE || !find_rows(r, a, part, shared))
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
static bool flat_mask(takt_graph *g, takt_id *mask, int rank)
{
    takt_type t = *takt_type_of(g, *mask);
    takt_dim dims[4] = {1, 1, 1, 1};
    if (t.rank > rank)
        return false;
    for (int d = 0; rank == 4 && d + 2 < t.rank; d++)
        if (t.dim[d] != 1)
            return false;
    if (rank == 4)
        return true;
    for (int d = 0; d < t.rank; d++) /* [batch, queries, keys], aligned at the end */
        dims[4 - t.rank + d - (t.rank == 3 && d == 0)] = t.dim[d];
    if (t.rank == 3)
        dims[1] = 1;
    *mask = takt_reshape(g, *mask, dims, 4);
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
    const int rank = takt_type_of(g, id)->rank;
    int64_t perm[TAKT_MAX_RANK];
    for (int d = 0; d < rank; d++)
        perm[d] = d + 2 < rank ? d : 2 * rank - 3 - d;
    return takt_transpose(g, id, perm, (size_t)rank);
}

/* Whether the axes before the last two are those of `like`; or [batch, 1], if `is_shared`. */
static bool same_lead(const takt_graph *g, takt_id id, takt_id like, bool is_shared)
{
    const takt_type *x = takt_type_of(g, id), *y = takt_type_of(g, like);
    for (int d = 0; d + 2 < x->rank; d++)
        if (is_shared && d == 1 ? x->dim[d] != 1 : !takt_dim_same(g->dims, x->dim[d], y->dim[d]))
            return false;
    return x->rank == 4 || !is_shared;
}

/* The result, whose last two axes a product may swap. */
static takt_id ended(takt_rewrite *r, const takt_attended *a, takt_id y, const takt_dim dims[4])
{
    const takt_type root = *r->in->nodes[r->id].type;
    y = a->is_turned ? transposed_back(r->out, takt_reshape(r->out, y, dims, 4)) : y;
    y = takt_cast(r->out, y, root.dtype); /* of queries that were multiplied in f32 */
    return takt_reshape(r->out, y, root.dim, (size_t)root.rank);
}

/* Queries, keys or values as a product reads them, queries with the factors of their heads. */
static takt_id part_of(takt_rewrite *r, const takt_attended *a, int k)
{
    takt_graph *g = r->out;
    const takt_id id =
        k == Q && a->gain != TAKT_NONE
            ? takt_mul(g, takt_widen(g, r->map[a->part[Q]]), takt_widen(g, r->map[a->gain]))
            : r->map[a->part[k]];
    return a->is_transposed[k] && id != TAKT_NONE ? transposed_back(g, id) : id;
}

/* Heads side by side in rows, [batch, rows, heads * dim], for a mask that has axes of its own for
 * samples and heads, and for keys that all heads share. */
static takt_id by_transposes(takt_rewrite *r, const takt_attended *a, bool is_shared)
{
    static const int64_t swap[4] = {0, 2, 1, 3};
    takt_graph *g = r->out;
    const takt_type soft = *takt_type_of(r->in, a->soft);
    takt_id in[4];
    takt_dim dims[4];
    for (int k = 0; k < 3; k++) {
        const takt_id id = part_of(r, a, k);
        if (id == TAKT_NONE)
            return id;
        const takt_type t = *takt_type_of(g, id);
        const takt_dim heads = is_shared && k != Q ? 1 : soft.dim[1];
        const takt_dim apart[4] = {soft.dim[0], heads, t.dim[t.rank - 2], t.dim[t.rank - 1]};
        const takt_dim side[3] = {apart[0], apart[2],
                                  takt_make_product(g, (takt_dim[]){heads, apart[3]}, 2)};
        in[k] = takt_reshape(g, takt_transpose(g, takt_reshape(g, id, apart, 4), swap, 4), side, 3);
        dims[k == Q ? 1 : 3] = apart[k == Q ? 2 : 3];
    }
    in[3] = whole_mask(r, a);
    dims[0] = soft.dim[0];
    dims[2] = soft.dim[1];
    takt_id y = call(g, in, soft.dim[1], is_shared ? 1 : soft.dim[1], a->scale);
    y = y == TAKT_NONE ? y : takt_transpose(g, takt_reshape(g, y, dims, 4), swap, 4);
    const takt_dim back[4] = {dims[0], dims[2], dims[1], dims[3]};
    return y == TAKT_NONE ? y : ended(r, a, y, back);
}

static takt_id make(takt_rewrite *r, const takt_attended *a, const char **why)
{
    takt_graph *g = r->out;
    const takt_type root = *r->in->nodes[r->id].type, *soft = takt_type_of(r->in, a->soft);
    const bool is_shared = !same_lead(r->in, a->part[K], r->id, false);
    for (int k = 0; k < 3; k++)
        if (!same_lead(r->in, a->part[k], r->id, is_shared && k != Q)) {
            *why = "a product pairs heads of one sample with those of another";
            return TAKT_NONE;
        }
    const takt_id by_rows = is_shared || root.rank > 4 ? TAKT_NONE : from_rows(r, a);
    if (by_rows != TAKT_NONE || g->status != TAKT_OK)
        return by_rows;
    takt_id in[4] = {TAKT_NONE, TAKT_NONE, TAKT_NONE, whole_mask(r, a)};
    if (is_shared || a->windows != TAKT_NONE ||
        (has_mask(a) && (soft->rank != root.rank || !flat_mask(g, &in[3], root.rank)))) {
        if (soft->rank == 4 && takt_dim_is_number(soft->dim[1]))
            return by_transposes(r, a, is_shared);
        *why = soft->rank == 4 ? "the number of its heads is not known"
                               : "its mask has other axes than its heads";
        return TAKT_NONE;
    }
    for (int k = 0; k < 3; k++)
        in[k] = flat(g, part_of(r, a, k));
    const takt_id y = call(g, in, 1, 1, a->scale);
    const takt_type *t = y == TAKT_NONE ? NULL : takt_type_of(g, y);
    if (t == NULL)
        return y;
    const takt_dim dims[4] = {1, t->dim[0], t->dim[1], t->dim[2]};
    return ended(r, a, y, dims);
}

takt_id takt_make_attention(takt_rewrite *r, const takt_attended *a, const char **why)
{
    takt_graph *g = r->out;
    const takt_id y = make(r, a, why);
    if (y == TAKT_NONE || !a->is_zeroed)
        return y;
    const takt_id in[3] = {takt_unary(g, &takt_op_is_nan, y), takt_scalar_like(g, y, 0), y};
    return takt_graph_call(g, &takt_op_select, 3, in, 0, NULL);
}
