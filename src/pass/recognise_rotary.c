/* recognise_rotary.c - rotary embeddings written as slices and concatenations:
 * x * cos + rotate_half(x) * sin, or each half by itself. rotate_half exchanges the halves of x and
 * negates one of them. Instead of halves it may be neighbours that are pairs. */
#include <string.h>

#include "pass/recognise.h"

enum { PAIR = 2 };

static int last_axis(const takt_graph *g, takt_id id)
{
    return takt_type_of(g, id)->rank - 1;
}

static takt_dim width(const takt_graph *g, takt_id id)
{
    const takt_type *t = takt_type_of(g, id);
    return t->rank > 0 ? t->dim[t->rank - 1] : 1;
}

static bool is_last(const takt_node *n, const char *attr, int rank)
{
    const int64_t axis = takt_node_int(n, attr);
    return (axis < 0 ? axis + rank : axis) == rank - 1;
}

/* Element `which` of the last axis, [..., half, 2], of a value that was [..., 2 * half]. */
static bool element_of(const takt_graph *g, takt_id id, int which, takt_id *x)
{
    const takt_node *flat = takt_known_op(g, id, &takt_op_reshape);
    const takt_node *cut = flat == NULL ? NULL : takt_known_op(g, flat->in[0], &takt_op_slice);
    const takt_node *pairs = cut == NULL ? NULL : takt_known_op(g, cut->in[0], &takt_op_reshape);
    if (pairs == NULL || width(g, flat->in[0]) != 1 || width(g, cut->in[0]) != PAIR ||
        !takt_dim_is_number(width(g, pairs->in[0])) ||
        width(g, pairs->in[0]) != PAIR * width(g, id))
        return false;
    const takt_attr *axes = takt_node_attr(cut, "axes"), *start = takt_node_attr(cut, "start");
    *x = pairs->in[0];
    return axes->count == 1 && start->count == 1 &&
           (axes->i64s[0] == -1 || axes->i64s[0] == last_axis(g, cut->in[0])) &&
           (start->i64s[0] == which || start->i64s[0] == which - PAIR);
}

/* Member `which` of the pairs in the last axis of the value that `*x` gets. */
static bool member_of(const takt_graph *g, takt_id id, int which, bool is_paired, takt_id *x)
{
    const takt_node *n = takt_known_op(g, id, &takt_op_slice);
    if (n == NULL)
        return is_paired && element_of(g, id, which, x);
    const takt_attr *axes = takt_node_attr(n, "axes"), *start = takt_node_attr(n, "start"),
                    *step = takt_node_attr(n, "step");
    const int last = last_axis(g, id);
    const takt_dim half = width(g, id), all = width(g, n->in[0]);
    const int64_t by = step->count == 1 ? step->i64s[0] : 1;
    if (start->count != 1 || axes->count != 1 || by != (is_paired ? PAIR : 1) ||
        !takt_dim_is_number(all) || half * 2 != all)
        return false;
    const int64_t axis = axes->i64s[0] < 0 ? axes->i64s[0] + last + 1 : axes->i64s[0];
    const int64_t first = start->i64s[0] < 0 ? start->i64s[0] + all : start->i64s[0];
    *x = n->in[0];
    return axis == last && first == which * (is_paired ? 1 : half);
}

/* What `id` negates, through known factors and sums with zero; or TAKT_NONE. */
static takt_id negated(const takt_graph *g, takt_id id)
{
    double scale = 1;
    for (bool moves = true; moves;) {
        const takt_node *minus = takt_known_op(g, id, &takt_op_neg);
        scale = minus != NULL ? -scale : scale;
        takt_id x = minus != NULL ? minus->in[0] : id;
        moves = minus != NULL || takt_known_scaled(g, id, &x, &scale);
        id = x;
    }
    return scale == -1 ? id : TAKT_NONE;
}

/* The two members that `id` joins: halves by a concat; or neighbours, which each get an axis of 1
 * first, and the result's two last axes become one. */
static bool joined(const takt_graph *g, takt_id id, bool is_paired, takt_id member[PAIR])
{
    const takt_node *flat = takt_known_op(g, id, &takt_op_reshape);
    if (is_paired && flat == NULL)
        return false;
    const takt_node *n = takt_known_op(g, is_paired ? flat->in[0] : id, &takt_op_concat);
    if (n == NULL || n->in_count != PAIR || !is_last(n, "axis", n->type->rank))
        return false;
    for (int k = 0; k < PAIR; k++) {
        const takt_node *apart = is_paired ? takt_known_op(g, n->in[k], &takt_op_reshape) : NULL;
        member[k] = apart != NULL ? apart->in[0] : n->in[k];
        if (is_paired && (apart == NULL || width(g, n->in[k]) != 1 ||
                          width(g, member[k]) * PAIR != width(g, id)))
            return false;
    }
    return true;
}

/* The pairs exchanged: (-second, first). */
static bool is_exchanged(const takt_graph *g, takt_id id, bool is_paired, takt_id *x)
{
    takt_id member[PAIR], other;
    if (!joined(g, id, is_paired, member))
        return false;
    const takt_id second = negated(g, member[0]);
    return second != TAKT_NONE && member_of(g, second, 1, is_paired, x) &&
           member_of(g, member[1], 0, is_paired, &other) && *x == other;
}

/* ---- halves that are equal ---- */

/* Runs of `run` elements are there twice, one after the other. */
static bool constant_repeats(const takt_node *n, size_t run)
{
    size_t count;
    const size_t bytes = (size_t)takt_dtype_bits(n->type->dtype) / 8 * run;
    if (bytes == 0 || !takt_type_count(n->type, &count))
        return false;
    const char *data = takt_tensor_data(n->attr[0].tensor);
    for (size_t i = 0; i < count / (2 * run); i++)
        if (memcmp(data + 2 * i * bytes, data + (2 * i + 1) * bytes, bytes) != 0)
            return false;
    return true;
}

/* What the last axis of a tile repeats twice; or TAKT_NONE. */
static takt_id tiled_twice(const takt_graph *g, takt_id id)
{
    const takt_node *n = takt_known_op(g, id, &takt_op_tile);
    return n != NULL && width(g, id) == PAIR * width(g, n->in[0]) ? n->in[0] : TAKT_NONE;
}

/* Whether rows of the last axis are unchanged. */
static bool keeps_rows(const takt_graph *g, const takt_node *n)
{
    if (n->op == &takt_op_gather)
        return takt_node_int(n, "axis") >= 0 && takt_node_int(n, "axis") < last_axis(g, n->in[0]);
    if (n->op == &takt_op_slice) {
        const takt_attr *step = takt_node_attr(n, "step");
        for (uint32_t i = 0; i < step->count; i++)
            if (step->i64s[i] < 1)
                return false;
        return true;
    }
    if (n->op == &takt_op_transpose) {
        const takt_attr *perm = takt_node_attr(n, "perm");
        return perm->count > 0 && perm->i64s[perm->count - 1] == (int64_t)perm->count - 1;
    }
    return n->op == &takt_op_reshape || n->op == &takt_op_unsqueeze || n->op == &takt_op_squeeze ||
           n->op == &takt_op_broadcast || n->op == &takt_op_cos || n->op == &takt_op_sin ||
           n->op == &takt_op_cast || n->op == &takt_op_neg;
}

/* Both halves of every row of the last axis, `half` elements each, are the same. */
static bool doubled(const takt_graph *g, takt_id id, takt_dim half, int depth)
{
    enum { DEPTH = 12 };
    const takt_node *n = &g->nodes[id];
    if (width(g, id) != 2 * half || depth == DEPTH)
        return false;
    if (n->op == &takt_op_constant)
        return constant_repeats(n, (size_t)half);
    if (n->op == &takt_op_concat)
        return n->in_count == 2 && n->in[0] == n->in[1] && is_last(n, "axis", n->type->rank);
    if (tiled_twice(g, id) != TAKT_NONE)
        return true;
    if (n->op == &takt_op_mul || n->op == &takt_op_div)
        return takt_match_is_scalar(g, n->in[1])   ? doubled(g, n->in[0], half, depth + 1)
               : takt_match_is_scalar(g, n->in[0]) ? doubled(g, n->in[1], half, depth + 1)
                                                   : false;
    return n->in_count > 0 && keeps_rows(g, n) && doubled(g, n->in[0], half, depth + 1);
}

/* ---- the two forms ---- */

static bool same_type(const takt_graph *g, takt_id a, takt_id b)
{
    return takt_match_type(g, a, takt_type_of(g, b));
}

static const char *accept(takt_uses u, takt_id root, const takt_rotated *r)
{
    const takt_type *t = u.g->nodes[root].type;
    if (t->dtype != TAKT_F32)
        return "its kernel is for f32";
    if (t->rank == TAKT_MAX_RANK)
        return "it has too many dimensions";
    if (!takt_match_type(u.g, r->x, t))
        return "the angles are more than the pairs";
    return same_type(u.g, r->cosine, r->sine) ? NULL : "cosines and sines differ in shape";
}

/* Whether each pair has one angle. */
static bool repeats(const takt_graph *g, takt_id id, const takt_rotated *r)
{
    const takt_node *n = &g->nodes[id];
    if (!r->is_paired)
        return doubled(g, id, r->half, 0);
    if (n->op == &takt_op_reshape && n->in_count > 0) { /* [..., half, 1] for both */
        const takt_node *wide = takt_known_op(g, n->in[0], &takt_op_broadcast);
        const takt_id one = wide != NULL ? wide->in[0] : tiled_twice(g, n->in[0]);
        if (one != TAKT_NONE && width(g, n->in[0]) == PAIR && width(g, one) == 1 &&
            width(g, id) == PAIR * r->half)
            return true;
    }
    return width(g, id) == PAIR * r->half && n->op == &takt_op_constant && constant_repeats(n, 1);
}

/* x * cos + exchanged(x) * sin. */
static const char *by_whole(takt_uses u, takt_id root, takt_rotated *found)
{
    const takt_graph *g = u.g;
    const takt_node *n = &g->nodes[root];
    for (int k = 0; k < 16; k++) {
        found->is_paired = k >= 8;
        const takt_id plain = n->in[k & 1], exchanged = n->in[1 - (k & 1)];
        const takt_node *a = takt_known_op(g, plain, &takt_op_mul),
                        *b = takt_known_op(g, exchanged, &takt_op_mul);
        const int i = k >> 1 & 1, j = k >> 2 & 1;
        if (a == NULL || b == NULL || !is_exchanged(g, b->in[j], found->is_paired, &found->x) ||
            a->in[i] != found->x)
            continue;
        found->cosine = a->in[1 - i];
        found->sine = b->in[1 - j];
        found->half = width(g, found->x) / 2;
        found->is_doubled = true;
        if (u.of[plain] != 1 || u.of[exchanged] != 1)
            return "a part of it is used elsewhere too";
        if (!repeats(g, found->cosine, found) || !repeats(g, found->sine, found))
            return "the cosines and sines of a pair are not known to be equal";
        return accept(u, root, found);
    }
    return "";
}

/* One member, p * a (+ or -) q * b: the factors of member `which` of x, and of the other. */
static bool half_sum(const takt_graph *g, takt_id id, int which, takt_rotated *r, takt_id *other)
{
    const takt_node *n = takt_known_op(g, id, which == 0 ? &takt_op_sub : &takt_op_add);
    for (int k = 0; n != NULL && k < 8; k++) {
        const int swap = k & 1;
        if (swap && which == 0)
            continue;
        const takt_node *a = takt_known_op(g, n->in[swap], &takt_op_mul),
                        *b = takt_known_op(g, n->in[1 - swap], &takt_op_mul);
        const int i = k >> 1 & 1, j = k >> 2 & 1;
        if (a == NULL || b == NULL || !member_of(g, a->in[i], which, r->is_paired, &r->x) ||
            !member_of(g, b->in[j], 1 - which, r->is_paired, other) || *other != r->x)
            continue;
        r->cosine = a->in[1 - i];
        r->sine = b->in[1 - j];
        return true;
    }
    return false;
}

/* a * cos - b * sin and b * cos + a * sin of the members a and b, joined. */
static const char *by_members(takt_uses u, takt_id root, bool is_paired, takt_rotated *found)
{
    takt_rotated second = {.is_paired = is_paired};
    takt_id x, member[PAIR];
    found->is_paired = is_paired;
    if (!joined(u.g, root, is_paired, member) || !half_sum(u.g, member[0], 0, found, &x) ||
        !half_sum(u.g, member[1], 1, &second, &x) || second.x != found->x)
        return "";
    if (second.cosine != found->cosine || second.sine != found->sine)
        return "its halves are rotated by different angles";
    found->half = width(u.g, found->x) / 2;
    found->is_doubled = false;
    if (width(u.g, found->cosine) != found->half)
        return "it has one angle for several pairs";
    return accept(u, root, found);
}

const char *takt_match_rotary(takt_uses u, takt_id root, takt_rotated *found)
{
    return u.g->nodes[root].op == &takt_op_add
               ? by_whole(u, root, found)
               : by_members(u, root, u.g->nodes[root].op == &takt_op_reshape, found);
}
