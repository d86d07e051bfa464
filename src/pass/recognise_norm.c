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

/* The axes of a mean: the last one, all of a group, or others. */
typedef enum axes_kind { LAST, GROUP, OTHER } axes_kind;

static axes_kind kind_of(const takt_attr *axes, int rank)
{
    if (axes->count == 1)
        return axes->i64s[0] == -1 || axes->i64s[0] == rank - 1 ? LAST : OTHER;
    bool seen[TAKT_MAX_RANK] = {false};
    for (uint32_t i = 0; i < axes->count; i++)
        seen[axes->i64s[i] < 0 ? axes->i64s[i] + rank : axes->i64s[i]] = true;
    for (int d = 0; d < rank; d++)
        if (seen[d] == (d == 0 || d == rank - 2))
            return OTHER;
    return rank > 3 ? GROUP : OTHER;
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
    n = takt_known_op(g, id, &takt_op_reduce_mean);
    if (n == NULL)
        return false;
    const takt_attr *axes = takt_node_attr(n, "axes");
    const int rank = takt_type_of(g, n->in[0])->rank;
    *x = n->in[0];
    *kind = takt_node_int(n, "keep") == 0 ? OTHER : kind_of(axes, rank);
    return true;
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

static const char *accept(takt_uses u, takt_id x, takt_id root, const spread *s, bool is_centred)
{
    const takt_type *t = takt_type_of(u.g, x);
    if (s->kind != LAST)
        return "it is not over the last axis alone";
    if (!takt_dim_is_number(t->dim[t->rank - 1]))
        return "the size of the last axis has a name";
    if (t->dtype != TAKT_F32 && t->dtype != TAKT_F64)
        return "its kernels are for f32 and f64";
    if (u.of[root] != 1)
        return is_centred ? "the deviation is used elsewhere too"
                          : "the root is used elsewhere too";
    return NULL;
}

static const char *normalised(takt_uses u, takt_id above, takt_id root, const spread *s,
                              takt_normed *found)
{
    const bool is_centred = s->mean != TAKT_NONE && above == s->of;
    if (!is_centred && (above != s->of || s->mean != TAKT_NONE))
        return s->mean != TAKT_NONE && above != s->x ? "what it divides is not what it squares"
                                                     : "";
    *found = (takt_normed){is_centred, s->x, TAKT_NONE, TAKT_NONE, s->epsilon, false};
    return accept(u, s->x, root, s, is_centred);
}

/* mean * scale in beta - mean * scale, or in beta + -mean * scale; NULL: `id` is neither. */
static const takt_node *shift_of(const takt_graph *g, takt_id id, takt_id *beta, bool *is_negated)
{
    const takt_node *n = &g->nodes[id];
    *is_negated = n->op == &takt_op_add;
    if (n->op == &takt_op_sub) {
        *beta = n->in[0];
        return takt_known_op(g, n->in[1], &takt_op_mul);
    }
    for (int k = 0; *is_negated && k < 2; k++) {
        const takt_node *down = takt_known_op(g, n->in[k], &takt_op_mul);
        *beta = n->in[1 - k];
        if (down != NULL && (takt_known_op(g, down->in[0], &takt_op_neg) != NULL ||
                             takt_known_op(g, down->in[1], &takt_op_neg) != NULL))
            return down;
    }
    return NULL;
}

/* 1 / root times gamma, in either order. */
static bool scale_of(const takt_graph *g, takt_id id, takt_id *root, takt_id *gamma, spread *s)
{
    const takt_node *by = takt_known_op(g, id, &takt_op_mul);
    for (int side = 0; by != NULL && side < 2; side++)
        if (root_of(g, by->in[side], true, s)) {
            *root = by->in[side];
            *gamma = by->in[1 - side];
            return true;
        }
    return false;
}

static const char *accept_group(takt_uses u, takt_id root, const takt_normed *found)
{
    const takt_type *t = takt_type_of(u.g, found->x);
    if (!takt_dim_is_number(t->dim[t->rank - 1]) || !takt_dim_is_number(t->dim[t->rank - 2]))
        return "the number of channels has a name";
    if (t->dtype != TAKT_F32 && t->dtype != TAKT_F64)
        return "its kernels are for f32 and f64";
    return u.of[root] == 1 ? NULL : "the root is used elsewhere too";
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
        if (scale_of(g, scale, &root, &gamma, &s) && s.x == x && s.mean == mean) {
            *found = (takt_normed){true, x, gamma, beta, s.epsilon, s.kind == GROUP};
            return found->is_grouped ? accept_group(u, root, found) : accept(u, x, root, &s, true);
        }
    }
    return "";
}

/* x * (gamma / root): Keras' root mean square. */
static const char *scaled(takt_uses u, takt_id x, takt_id scale, takt_normed *found)
{
    takt_id root, gamma;
    spread s;
    if (!scale_of(u.g, scale, &root, &gamma, &s) || s.of != x)
        return "";
    *found = (takt_normed){s.mean != TAKT_NONE, s.x, gamma, TAKT_NONE, s.epsilon, false};
    return u.of[scale] == 1 ? accept(u, s.x, root, &s, found->is_centred) : "";
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
            return n->in[1 - k] == s.of ? normalised(u, s.of, n->in[k], &s, found) : "";
        why = scaled(u, n->in[1 - k], n->in[k], found);
        if (why == NULL || why[0] != '\0')
            return why;
    }
    return why;
}
