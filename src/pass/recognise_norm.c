/* recognise_norm.c - layer and root-mean-square normalisation over the last axis, and Keras' group
 * normalisation: over all axes but the first and the last but one of a picture that was split. */
#include "op/util/window.h"
#include "pass/recognise.h"

/* x * x as a product, a square or a power. */
static bool square_of(const takt_graph *g, takt_id id, takt_id *x)
{
    const takt_node *n = &g->nodes[id];
    double exponent;
    *x = n->in_count > 0 ? n->in[0] : TAKT_NONE;
    if (n->op == &takt_op_square)
        return true;
    if (n->op == &takt_op_mul)
        return n->in[0] == n->in[1];
    return n->op == &takt_op_pow && takt_known_scalar(g, n->in[1], &exponent) && exponent == 2;
}

/* The axes of a mean: the last one, that of channels, all of a group, or others. */
typedef enum axes_kind { LAST, CHANNELS, GROUP, OTHER } axes_kind;

static axes_kind kind_of(const takt_attr *axes, int rank)
{
    if (axes->count == 1) {
        const int64_t axis = axes->i64s[0] < 0 ? axes->i64s[0] + rank : axes->i64s[0];
        return axis == rank - 1 ? LAST : axis == 1 ? CHANNELS : OTHER;
    }
    bool seen[TAKT_MAX_RANK] = {false};
    for (uint32_t i = 0; i < axes->count; i++)
        seen[axes->i64s[i] < 0 ? axes->i64s[i] + rank : axes->i64s[i]] = true;
    for (int d = 0; d < rank; d++)
        if (seen[d] == (d == 0 || d == rank - 2))
            return OTHER;
    return rank > 3 ? GROUP : OTHER;
}

/* Whether a mean over one axis was reshaped to have it again, as 1. */
static bool keeps_axis(const takt_type *to, const takt_type *from, axes_kind kind)
{
    const int axis = kind == LAST ? from->rank - 1 : 1;
    bool fits = to->rank == from->rank && (kind == LAST || kind == CHANNELS);
    for (int d = 0; fits && d < to->rank; d++)
        fits = to->dim[d] == (d == axis ? 1 : from->dim[d]);
    return fits;
}

/* The mean, its axes kept as 1. tf2onnx writes a pool where there are three axes. */
static bool mean_of(const takt_graph *g, takt_id id, takt_id *x, axes_kind *kind)
{
    const takt_node *n = takt_known_op(g, id, &takt_op_global_avg_pool);
    if (n != NULL) {
        *x = n->in[0];
        *kind = n->type->rank != 3 || takt_node_int(n, "layout") != TAKT_NCHW ? OTHER : LAST;
        return true;
    }
    const takt_node *kept = takt_known_op(g, id, &takt_op_reshape);
    n = takt_known_op(g, kept != NULL ? kept->in[0] : id, &takt_op_reduce_mean);
    if (n == NULL)
        return false;
    const takt_attr *axes = takt_node_attr(n, "axes");
    const takt_type *from = takt_type_of(g, n->in[0]);
    *x = n->in[0];
    *kind = kind_of(axes, from->rank);
    if (takt_node_int(n, "keep") == 0 || kept != NULL)
        *kind = kept != NULL && takt_node_int(n, "keep") == 0 && keeps_axis(kept->type, from, *kind)
                    ? *kind
                    : OTHER;
    return true;
}

/* Two means of the same axes of one value. */
static bool same_mean(const takt_graph *g, takt_id a, takt_id b)
{
    takt_id x, y;
    axes_kind k, l;
    return a == b || (a != TAKT_NONE && b != TAKT_NONE && mean_of(g, a, &x, &k) &&
                      mean_of(g, b, &y, &l) && x == y && k == l && k != OTHER);
}

/* Two deviations from such means. */
static bool same_deviation(const takt_graph *g, takt_id a, takt_id b)
{
    const takt_node *m = takt_known_op(g, a, &takt_op_sub), *n = takt_known_op(g, b, &takt_op_sub);
    return a == b ||
           (m != NULL && n != NULL && m->in[0] == n->in[0] && same_mean(g, m->in[1], n->in[1]));
}

/* x - mean(x). */
static bool centred(const takt_graph *g, takt_id id, takt_id *x, takt_id *mean, axes_kind *kind)
{
    const takt_node *n = takt_known_op(g, id, &takt_op_sub);
    if (n == NULL || !mean_of(g, n->in[1], x, kind) || *x != n->in[0])
        return false;
    *mean = n->in[1];
    return true;
}

/* The operand of a root: a mean of squares plus a small number. */
typedef struct spread {
    takt_id of, x, mean; /* the squared value; if it is x - mean: these, else of and TAKT_NONE */
    double epsilon;
    axes_kind kind;
} spread;

static bool spread_of(const takt_graph *g, takt_id id, spread *s)
{
    const takt_node *n = &g->nodes[id];
    takt_id square;
    s->epsilon = 0;
    if (n->op == &takt_op_add) {
        const bool is_right = takt_known_scalar(g, n->in[1], &s->epsilon);
        if (!is_right && !takt_known_scalar(g, n->in[0], &s->epsilon))
            return false;
        id = n->in[is_right ? 0 : 1];
    }
    if (!mean_of(g, id, &square, &s->kind) || !square_of(g, square, &s->of) || s->epsilon < 0)
        return false;
    s->x = s->of;
    s->mean = TAKT_NONE;
    axes_kind kind = s->kind;
    if (!centred(g, s->of, &s->x, &s->mean, &kind)) {
        s->x = s->of;
        s->mean = TAKT_NONE;
    } else if (kind != s->kind) {
        s->kind = OTHER;
    }
    return true;
}

/* sqrt(spread), or `is_inverse` 1 / sqrt(spread). */
static bool root_of(const takt_graph *g, takt_id id, bool is_inverse, spread *s)
{
    const takt_node *n = &g->nodes[id];
    double number;
    if (n->in_count == 0)
        return false;
    if (n->op == &takt_op_pow)
        return takt_known_scalar(g, n->in[1], &number) && number == (is_inverse ? -0.5 : 0.5) &&
               spread_of(g, n->in[0], s);
    if (!is_inverse)
        return n->op == &takt_op_sqrt && spread_of(g, n->in[0], s);
    if (n->op == &takt_op_rsqrt)
        return spread_of(g, n->in[0], s);
    if (n->op == &takt_op_reciprocal)
        return root_of(g, n->in[0], false, s);
    return n->op == &takt_op_div && takt_known_scalar(g, n->in[0], &number) && number == 1 &&
           root_of(g, n->in[1], false, s);
}

/* `readers` of the root are part of the pattern. */
static const char *accept(takt_uses u, takt_id root, const spread *s, bool is_centred,
                          uint32_t readers)
{
    const takt_type *t = takt_type_of(u.g, s->x);
    if (s->kind != LAST && s->kind != CHANNELS)
        return "it is not over the last axis alone, or over axis 1";
    if (!takt_dim_is_number(t->dim[s->kind == LAST ? t->rank - 1 : 1]))
        return "the size of its axis has a name";
    if (t->dtype != TAKT_F32 && t->dtype != TAKT_F64)
        return "its kernels are for f32 and f64";
    if (u.of[root] > readers)
        return is_centred ? "the deviation is used elsewhere too"
                          : "the root is used elsewhere too";
    return NULL;
}

/* `id` as the value of which `s` is the spread, with or without a factor `*gamma`. */
static bool is_spread(const takt_graph *g, takt_id id, const spread *s, takt_id *gamma)
{
    *gamma = TAKT_NONE;
    if (same_deviation(g, id, s->of))
        return true;
    const takt_node *n = takt_known_op(g, id, &takt_op_mul);
    for (int k = 0; n != NULL && k < 2; k++) {
        *gamma = n->in[1 - k];
        if (same_deviation(g, n->in[k], s->of))
            return true;
    }
    return false;
}

static const char *normalised(takt_uses u, takt_id above, takt_id root, const spread *s,
                              takt_normed *found)
{
    takt_id gamma;
    if (!is_spread(u.g, above, s, &gamma))
        return s->mean != TAKT_NONE && above != s->x ? "what it divides is not what it squares"
                                                     : "";
    const bool is_centred = s->mean != TAKT_NONE;
    *found = (takt_normed){.is_centred = is_centred,
                           .x = s->x,
                           .gamma = gamma,
                           .beta = TAKT_NONE,
                           .epsilon = s->epsilon,
                           .is_channels = s->kind == CHANNELS};
    return accept(u, root, s, is_centred, 1);
}

/* A product of which one factor is negated, or NULL. */
static const takt_node *negated_product(const takt_graph *g, takt_id id)
{
    const takt_node *n = takt_known_op(g, id, &takt_op_mul);
    return n != NULL && (takt_known_op(g, n->in[0], &takt_op_neg) != NULL ||
                         takt_known_op(g, n->in[1], &takt_op_neg) != NULL)
               ? n
               : NULL;
}

/* mean * scale in beta - mean * scale, in beta + -mean * scale, or in that without beta; NULL: `id`
 * is none of them. */
static const takt_node *shift_of(const takt_graph *g, takt_id id, takt_id *beta, bool *is_negated)
{
    const takt_node *n = &g->nodes[id], *whole = negated_product(g, id);
    *is_negated = n->op == &takt_op_add || whole != NULL;
    *beta = TAKT_NONE;
    if (whole != NULL)
        return whole;
    if (n->op == &takt_op_sub) {
        *beta = n->in[0];
        return takt_known_op(g, n->in[1], &takt_op_mul);
    }
    for (int k = 0; *is_negated && k < 2; k++) {
        const takt_node *down = negated_product(g, n->in[k]);
        *beta = n->in[1 - k];
        if (down != NULL)
            return down;
    }
    return NULL;
}

/* 1 / root, perhaps times gamma, in either order. */
static bool scale_of(const takt_graph *g, takt_id id, takt_id *root, takt_id *gamma, spread *s)
{
    const takt_node *by = takt_known_op(g, id, &takt_op_mul);
    *root = id;
    *gamma = TAKT_NONE;
    if (root_of(g, id, true, s))
        return true;
    for (int side = 0; by != NULL && side < 2; side++)
        if (root_of(g, by->in[side], true, s)) {
            *root = by->in[side];
            *gamma = by->in[1 - side];
            return true;
        }
    return false;
}

static const char *accept_group(takt_uses u, takt_id root, const takt_normed *found,
                                uint32_t readers)
{
    const takt_type *t = takt_type_of(u.g, found->x);
    if (!takt_dim_is_number(t->dim[t->rank - 1]) || !takt_dim_is_number(t->dim[t->rank - 2]))
        return "the number of channels has a name";
    if (t->dtype != TAKT_F32 && t->dtype != TAKT_F64)
        return "its kernels are for f32 and f64";
    return u.of[root] <= readers ? NULL : "the root is used elsewhere too";
}

/* x * scale + (beta - mean * scale), scale = gamma / root. */
static const char *by_scale(takt_uses u, takt_id a, takt_id b, takt_normed *found)
{
    const takt_graph *g = u.g;
    takt_id beta, root, gamma;
    bool is_negated;
    const takt_node *first = takt_known_op(g, a, &takt_op_mul),
                    *down = shift_of(g, b, &beta, &is_negated);
    spread s;
    for (int k = 0; first != NULL && down != NULL && k < 4; k++) {
        const takt_id x = first->in[k & 1], scale = first->in[1 - (k & 1)];
        takt_id mean = down->in[k >> 1];
        if (down->in[1 - (k >> 1)] != scale)
            continue;
        if (is_negated) {
            const takt_node *minus = takt_known_op(g, mean, &takt_op_neg);
            if (minus == NULL)
                continue;
            mean = minus->in[0];
        }
        if (scale_of(g, scale, &root, &gamma, &s) && s.x == x && same_mean(g, s.mean, mean)) {
            *found =
                (takt_normed){true, x, gamma, beta, s.epsilon, s.kind == CHANNELS, s.kind == GROUP};
            const uint32_t readers = gamma == TAKT_NONE ? 2 : 1;
            return found->is_grouped ? accept_group(u, root, found, readers)
                                     : accept(u, root, &s, true, readers);
        }
    }
    return "";
}

/* x * (gamma / root): Keras' root mean square. */
static const char *scaled(takt_uses u, takt_id x, takt_id scale, takt_normed *found)
{
    takt_id root, gamma;
    spread s;
    if (!scale_of(u.g, scale, &root, &gamma, &s) || gamma == TAKT_NONE || s.of != x)
        return "";
    *found = (takt_normed){.is_centred = s.mean != TAKT_NONE,
                           .x = s.x,
                           .gamma = gamma,
                           .beta = TAKT_NONE,
                           .epsilon = s.epsilon,
                           .is_channels = s.kind == CHANNELS};
    return u.of[scale] == 1 ? accept(u, root, &s, found->is_centred, 1) : "";
}

const char *takt_match_norm(takt_uses u, takt_id root, takt_normed *found)
{
    const takt_node *n = &u.g->nodes[root];
    const char *why = "";
    spread s;
    if (n->op == &takt_op_add) {
        why = by_scale(u, n->in[0], n->in[1], found);
        return why != NULL && why[0] == '\0' ? by_scale(u, n->in[1], n->in[0], found) : why;
    }
    if (n->op == &takt_op_div && root_of(u.g, n->in[1], false, &s))
        return normalised(u, n->in[0], n->in[1], &s, found);
    for (int k = 0; n->op == &takt_op_mul && k < 2; k++) {
        if (root_of(u.g, n->in[k], true, &s)) /* or it is scaled first, for by_scale */
            return same_deviation(u.g, n->in[1 - k], s.of)
                       ? normalised(u, n->in[1 - k], n->in[k], &s, found)
                       : "";
        why = scaled(u, n->in[1 - k], n->in[k], found);
        if (why == NULL || why[0] != '\0')
            return why;
    }
    return why;
}
