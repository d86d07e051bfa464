/* recognise.c - one operation where a model spells out its arithmetic.
 *
 * Exporters write GELU, normalisation and attention as the arithmetic that they are made of, each
 * in its own order. The operation has one kernel, and rounds less often: docs/numerics.md,
 * "Recognised operations".
 */
#include "pass/recognise.h"

#include <math.h>

#include "op/util/window.h"
#include "pass/passes.h"

bool takt_is_close(double a, double b)
{
    return fabs(a - b) <= 1e-5 * fabs(b);
}

const takt_node *takt_known_op(const takt_graph *g, takt_id id, const takt_op *op)
{
    return takt_match_op(g, id, op);
}

/* Casts to integers cut off, and those to narrow floats round too much. */
static bool is_moved(const takt_node *n)
{
    if (n->op == &takt_op_cast)
        return n->type->dtype == TAKT_F32 || n->type->dtype == TAKT_F64;
    return n->op == &takt_op_reshape || n->op == &takt_op_broadcast || n->op == &takt_op_squeeze ||
           n->op == &takt_op_unsqueeze;
}

static bool known(const takt_graph *g, takt_id id, int depth, double *value);

static bool known_pair(const takt_graph *g, const takt_node *n, int depth, double *value)
{
    double a, b;
    if (n->in_count != 2 || !takt_dtype_is_float(n->type->dtype) ||
        !known(g, n->in[0], depth, &a) || !known(g, n->in[1], depth, &b))
        return false;
    *value = n->op == &takt_op_add   ? a + b
             : n->op == &takt_op_sub ? a - b
             : n->op == &takt_op_mul ? a * b
             : n->op == &takt_op_div ? a / b
             : n->op == &takt_op_pow ? pow(a, b)
                                     : NAN;
    return isfinite(*value);
}

static bool known_constant(const takt_node *n, double *value)
{
    size_t count;
    const takt_dtype dtype = n->type->dtype;
    const void *data = takt_tensor_data(n->attr[0].tensor);
    if (!takt_type_count(n->type, &count) || count != 1)
        return false;
    *value = takt_dtype_is_float(dtype)
                 ? takt_dtype_get_f(dtype, data, 0)
                 : takt_dtype_to_double(dtype, takt_dtype_get_i(dtype, data, 0));
    return isfinite(*value);
}

static bool known(const takt_graph *g, takt_id id, int depth, double *value)
{
    enum { DEPTH = 8 };
    const takt_node *n = &g->nodes[id];
    if (n->op == &takt_op_constant)
        return known_constant(n, value);
    if (depth == DEPTH || n->in_count == 0 || n->in[0] == TAKT_NONE)
        return false;
    if (n->in_count == 2)
        return known_pair(g, n, depth + 1, value);
    if (!known(g, n->in[0], depth + 1, value))
        return false;
    if (is_moved(n))
        return true;
    *value = n->op == &takt_op_sqrt         ? sqrt(*value)
             : n->op == &takt_op_rsqrt      ? 1 / sqrt(*value)
             : n->op == &takt_op_reciprocal ? 1 / *value
             : n->op == &takt_op_neg        ? -*value
                                            : NAN;
    return isfinite(*value);
}

bool takt_known_scalar(const takt_graph *g, takt_id id, double *value)
{
    return id != TAKT_NONE && takt_match_is_scalar(g, id) && known(g, id, 0, value);
}

bool takt_known_scaled(const takt_graph *g, takt_id id, takt_id *x, double *scale)
{
    const takt_node *n = &g->nodes[id];
    double value;
    if (n->op == &takt_op_mul && takt_known_scalar(g, n->in[1], &value)) {
        *scale *= value;
        *x = n->in[0];
        return true;
    }
    if (n->op == &takt_op_mul && takt_known_scalar(g, n->in[0], &value)) {
        *scale *= value;
        *x = n->in[1];
        return true;
    }
    if (n->op == &takt_op_add && takt_known_scalar(g, n->in[1], &value) && value == 0) {
        *x = n->in[0]; /* a zero shift, as Paddle writes it after every scale */
        return true;
    }
    if (n->op != &takt_op_div || !takt_known_scalar(g, n->in[1], &value) || value == 0)
        return false;
    *scale /= value;
    *x = n->in[0];
    return true;
}

static takt_uses uses_of(const takt_rewrite *r)
{
    return (takt_uses){r->in, r->uses};
}

/* Whether the one reader of the node is a product or a quotient: then it may be the inside of the
 * pattern, and its last node says what is in the way. */
static bool is_factor(const takt_rewrite *r)
{
    if (r->uses[r->id] != 1)
        return false;
    for (size_t i = (size_t)r->id + 1; i < r->in->count; i++)
        for (uint32_t k = 0; k < r->in->nodes[i].in_count; k++)
            if (r->in->nodes[i].in[k] == r->id)
                return r->in->nodes[i].op == &takt_op_mul || r->in->nodes[i].op == &takt_op_div;
    return false;
}

static takt_id missed(takt_rewrite *r, const takt_node *n, const char *why)
{
    return why[0] == '\0' || is_factor(r) ? TAKT_NONE : takt_refuse(r, n, why);
}

/* ---- activations ---- */

static takt_id gate(takt_rewrite *r, const takt_node *n)
{
    takt_gate found;
    const char *why = takt_match_gate(uses_of(r), r->id, &found);
    if (why != NULL)
        return missed(r, n, why);
    if (!takt_match_type(r->out, r->map[found.x], n->type))
        return TAKT_NONE;
    const takt_id x = r->map[found.x];
    if (found.op != &takt_op_gelu)
        return takt_unary(r->out, found.op, x);
    const takt_named_attr how = {"approximate", takt_attr_i64(found.is_tanh)};
    return takt_graph_call(r->out, found.op, 1, &x, 1, &how);
}

/* ---- normalisation ---- */

/* 1 for every column. */
static takt_id ones(takt_graph *g, takt_id x)
{
    const takt_type *t = takt_type_of(g, x);
    const takt_dim last = t->dim[t->rank - 1];
    return takt_broadcast(g, takt_scalar_like(g, x, 1), &last, 1);
}

static bool is_ones(const takt_graph *g, takt_id id)
{
    const takt_node *n = takt_match_op(g, id, &takt_op_broadcast);
    return n != NULL && takt_match_value(g, n->in[0], 1);
}

/* A value for every column, as a vector; TAKT_NONE if it is something else. */
static takt_id columns(takt_graph *g, takt_id id, const takt_type *like)
{
    size_t count;
    const takt_type *t = takt_type_of(g, id);
    const takt_dim last = like->dim[like->rank - 1];
    if (t->rank == 0 || t->rank > like->rank || !takt_type_count(t, &count) ||
        t->dim[t->rank - 1] != last || count != (size_t)last || t->dtype != like->dtype)
        return TAKT_NONE;
    return t->rank == 1 ? id : takt_reshape(g, id, &last, 1);
}

static takt_id norm_of(takt_graph *g, bool is_centred, const takt_id in[3], double epsilon)
{
    const takt_named_attr attr = {"epsilon", takt_attr_f64(epsilon)};
    const size_t count = !is_centred || in[2] == TAKT_NONE ? 2 : 3;
    return takt_graph_call(g, is_centred ? &takt_op_layer_norm : &takt_op_rms_norm, count, in, 1,
                           &attr);
}

/* A value for every channel of every group, as a vector; TAKT_NONE if it is something else. */
static takt_id channels_of(takt_graph *g, takt_id id, const takt_type *like)
{
    const takt_type *t = takt_type_of(g, id);
    const takt_dim channels = like->dim[like->rank - 2] * like->dim[like->rank - 1];
    size_t count;
    if (t->rank < 2 || t->rank > like->rank || !takt_type_count(t, &count) ||
        count != (size_t)channels || t->dim[t->rank - 1] != like->dim[like->rank - 1] ||
        t->dim[t->rank - 2] != like->dim[like->rank - 2] || t->dtype != like->dtype)
        return TAKT_NONE;
    return takt_reshape(g, id, &channels, 1);
}

/* Channels that were split into groups, joined, normalised and split again. */
static takt_id split_group(takt_rewrite *r, const takt_normed *found, const takt_type *like)
{
    takt_graph *g = r->out;
    takt_dim dims[TAKT_MAX_RANK];
    const int rank = like->rank - 1;
    for (int d = 0; d < rank; d++)
        dims[d] = like->dim[d];
    dims[rank - 1] = like->dim[rank - 1] * like->dim[rank];
    const takt_id in[3] = {takt_reshape(g, r->map[found->x], dims, (size_t)rank),
                           channels_of(g, r->map[found->gamma], like),
                           channels_of(g, r->map[found->beta], like)};
    if (in[1] == TAKT_NONE || in[2] == TAKT_NONE)
        return TAKT_NONE;
    const takt_named_attr how[3] = {{"groups", takt_attr_i64(like->dim[rank - 1])},
                                    {"epsilon", takt_attr_f64(found->epsilon)},
                                    {"layout", takt_attr_i64(TAKT_NHWC)}};
    const takt_id y = takt_graph_call(g, &takt_op_group_norm, 3, in, 3, how);
    return y == TAKT_NONE ? y : takt_reshape(g, y, like->dim, (size_t)like->rank);
}

static takt_id norm(takt_rewrite *r, const takt_node *n)
{
    takt_normed found;
    const char *why = takt_match_norm(uses_of(r), r->id, &found);
    if (why != NULL)
        return why[0] == '\0' ? TAKT_NONE : takt_refuse(r, n, why);
    const takt_type like = *n->type;
    if (found.is_grouped)
        return takt_match_type(r->out, r->map[found.x], &like) ? split_group(r, &found, &like)
                                                               : TAKT_NONE;
    takt_id in[3] = {r->map[found.x], TAKT_NONE, TAKT_NONE};
    if (!takt_match_type(r->out, in[0], n->type))
        return TAKT_NONE;
    if (found.gamma != TAKT_NONE) {
        in[1] = columns(r->out, r->map[found.gamma], n->type);
        if (found.beta != TAKT_NONE)
            in[2] = columns(r->out, r->map[found.beta], n->type);
        if (in[1] == TAKT_NONE || (found.beta != TAKT_NONE && in[2] == TAKT_NONE))
            return TAKT_NONE;
    } else {
        in[1] = ones(r->out, in[0]);
    }
    return norm_of(r->out, found.is_centred, in, found.epsilon);
}

/* The normalisation among the operands of `n`, which alone reads it, and the other operand. */
static const takt_node *normal_of(takt_rewrite *r, const takt_node *n, const takt_op *op,
                                  takt_id *other)
{
    for (uint32_t k = 0; k < 2; k++) {
        const takt_node *inner = takt_match_op(r->out, n->in[k], op);
        if (inner == NULL || !takt_match_single(r, k) || takt_node_int(inner, "axis") != -1 ||
            !takt_match_type(r->out, n->in[k], n->type))
            continue;
        *other = n->in[1 - k];
        return inner;
    }
    return NULL;
}

static takt_id scaled_norm(takt_rewrite *r, const takt_node *n, const takt_op *op)
{
    takt_id gamma;
    const takt_node *inner = normal_of(r, n, op, &gamma);
    if (inner == NULL || !is_ones(r->out, inner->in[1]) ||
        (inner->in_count > 2 && inner->in[2] != TAKT_NONE))
        return TAKT_NONE;
    const takt_id x = inner->in[0];
    const double epsilon = takt_node_attr(inner, "epsilon")->f64;
    const takt_id in[3] = {x, columns(r->out, gamma, n->type), TAKT_NONE};
    return in[1] == TAKT_NONE ? TAKT_NONE : norm_of(r->out, op == &takt_op_layer_norm, in, epsilon);
}

static takt_id scaled_layer(takt_rewrite *r, const takt_node *n)
{
    return scaled_norm(r, n, &takt_op_layer_norm);
}

static takt_id scaled_rms(takt_rewrite *r, const takt_node *n)
{
    return scaled_norm(r, n, &takt_op_rms_norm);
}

static takt_id shifted_norm(takt_rewrite *r, const takt_node *n)
{
    takt_id beta;
    const takt_node *inner = normal_of(r, n, &takt_op_layer_norm, &beta);
    if (inner == NULL || (inner->in_count > 2 && inner->in[2] != TAKT_NONE))
        return TAKT_NONE;
    const takt_id x = inner->in[0], gamma = inner->in[1];
    const double epsilon = takt_node_attr(inner, "epsilon")->f64;
    const takt_id in[3] = {x, gamma, columns(r->out, beta, n->type)};
    return in[2] == TAKT_NONE ? TAKT_NONE : norm_of(r->out, true, in, epsilon);
}

static takt_id group(takt_rewrite *r, const takt_node *n)
{
    takt_grouped found;
    const char *why = takt_match_group(uses_of(r), r->id, &found);
    if (why != NULL)
        return why[0] == '\0' ? TAKT_NONE : takt_refuse(r, n, why);
    const takt_dim channels = n->type->dim[1];
    const takt_id in[3] = {r->map[found.x], takt_reshape(r->out, r->map[found.gamma], &channels, 1),
                           takt_reshape(r->out, r->map[found.beta], &channels, 1)};
    const takt_named_attr how[2] = {{"groups", takt_attr_i64(found.groups)},
                                    {"epsilon", takt_attr_f64(found.epsilon)}};
    return takt_graph_call(r->out, &takt_op_group_norm, 3, in, 2, how);
}

/* ---- attention, rotary embeddings, blocks ---- */

static takt_id rotary(takt_rewrite *r, const takt_node *n)
{
    takt_rotated found;
    const char *why = takt_match_rotary(uses_of(r), r->id, &found);
    if (why != NULL)
        return why[0] == '\0' ? TAKT_NONE : takt_refuse(r, n, why);
    takt_id in[3] = {r->map[found.x], r->map[found.cosine], r->map[found.sine]};
    for (int k = 1; found.is_doubled && k < 3; k++)
        in[k] = takt_slice(r->out, in[k], takt_type_of(r->out, in[k])->rank - 1, 0, found.half, 1);
    return takt_graph_call(r->out, &takt_op_rotary_embedding, 3, in, 0, NULL);
}

static takt_id attention(takt_rewrite *r, const takt_node *n)
{
    takt_attended found;
    const char *why = takt_match_attention(uses_of(r), r->id, &found);
    if (why != NULL)
        return why[0] == '\0' ? TAKT_NONE : takt_refuse(r, n, why);
    const takt_id y = takt_make_attention(r, &found, &why);
    return y != TAKT_NONE || r->out->status != TAKT_OK ? y : takt_refuse(r, n, why);
}

static takt_id blocks(takt_rewrite *r, const takt_node *n)
{
    takt_blocks found;
    const char *why = takt_match_blocks(uses_of(r), r->id, &found);
    if (why != NULL)
        return why[0] == '\0' ? TAKT_NONE : takt_refuse(r, n, why);
    return takt_make_blocks(r, &found);
}

static const takt_rule rules[] = {
    {&takt_op_mul, "x * a gate of x = gelu(x), hard_swish(x), silu(x)", gate},
    {&takt_op_div, "x * a gate of x / c = gelu(x), hard_swish(x), silu(x)", gate},
    {&takt_op_div, "(x - mean) / sqrt(variance + e) = layer_norm(x)", norm},
    {&takt_op_mul, "x * rsqrt(mean(x * x) + e) = rms_norm(x)", norm},
    {&takt_op_add, "x * s + (b - mean * s) = layer_norm(x), group_norm(x)", norm},
    {&takt_op_mul, "layer_norm(x) * g = layer_norm(x, g)", scaled_layer},
    {&takt_op_mul, "rms_norm(x) * g = rms_norm(x, g)", scaled_rms},
    {&takt_op_add, "layer_norm(x, g) + b = layer_norm(x, g, b)", shifted_norm},
    {&takt_op_add, "instance_norm of groups * g + b = group_norm(x, g, b)", group},
    {&takt_op_add, "x * cos + (-x2, x1) * sin = rotary_embedding(x)", rotary},
    {&takt_op_concat, "(x1 * cos - x2 * sin, x2 * cos + x1 * sin) = rotary_embedding(x)", rotary},
    {&takt_op_concat, "the four phases of a picture = one transpose", blocks},
};

const takt_pass takt_pass_recognise = {
    .name = "recognise",
    .summary = "one operation where a model spells out its arithmetic",
    .licence = "Recognised operations",
    TAKT_RULES(rules),
};

static const takt_rule attention_rules[] = {
    {&takt_op_matmul, "softmax(q k' * c + mask) v = attention(q, k, v)", attention},
};

const takt_pass takt_pass_join_attention = {
    .name = "join-attention",
    .summary = "attention where a model has two products around a softmax",
    .licence = "Recognised operations",
    TAKT_RULES(attention_rules),
};
