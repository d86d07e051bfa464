/* recognise.c - one operation where a model spells out its arithmetic.
 *
 * Exporters write GELU, normalisation and attention as the arithmetic that they are made of, each
 * in its own order. The operation has one kernel, and rounds less often: docs/numerics.md,
 * "Recognised operations".
 */
#include "pass/recognise.h"

#include <math.h>

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

takt_id takt_missed(takt_rewrite *r, const takt_node *n, const char *why)
{
    return why[0] == '\0' ? TAKT_NONE : takt_refuse(r, n, why);
}

static takt_id missed(takt_rewrite *r, const takt_node *n, const char *why)
{
    return why[0] == '\0' || is_factor(r) ? TAKT_NONE : takt_refuse(r, n, why);
}

/* ---- activations ---- */

static takt_id gate(takt_rewrite *r, const takt_node *n)
{
    takt_gate found;
    const char *why = takt_match_gate(takt_uses_of(r), r->id, &found);
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

/* ---- attention, rotary embeddings, blocks ---- */

static takt_id rotary(takt_rewrite *r, const takt_node *n)
{
    takt_rotated found;
    const char *why = takt_match_rotary(takt_uses_of(r), r->id, &found);
    if (why != NULL)
        return takt_missed(r, n, why);
    takt_id in[3] = {r->map[found.x], r->map[found.cosine], r->map[found.sine]};
    for (int k = 1; found.is_doubled && k < 3; k++)
        in[k] = takt_slice(r->out, in[k], takt_type_of(r->out, in[k])->rank - 1, 0,
                           found.is_paired ? 2 * found.half : found.half, found.is_paired ? 2 : 1);
    const takt_named_attr how = {"interleaved", takt_attr_bool(found.is_paired)};
    return takt_graph_call(r->out, &takt_op_rotary_embedding, 3, in, found.is_paired, &how);
}

static takt_id attention(takt_rewrite *r, const takt_node *n)
{
    takt_attended found;
    const char *why = takt_match_attention(takt_uses_of(r), r->id, &found);
    if (why != NULL)
        return takt_missed(r, n, why);
    const takt_id y = takt_make_attention(r, &found, &why);
    return y != TAKT_NONE || r->out->status != TAKT_OK ? y : takt_refuse(r, n, why);
}

static takt_id blocks(takt_rewrite *r, const takt_node *n)
{
    takt_blocks found;
    const char *why = takt_match_blocks(takt_uses_of(r), r->id, &found);
    if (why != NULL)
        return takt_missed(r, n, why);
    return takt_make_blocks(r, &found);
}

static const takt_rule rules[] = {
    {&takt_op_mul, "x * a gate of x = gelu(x), hard_swish(x), silu(x)", gate},
    {&takt_op_div, "x * a gate of x / c = gelu(x), hard_swish(x), silu(x)", gate},
    {&takt_op_div, "(x - mean) / sqrt(variance + e) = layer_norm(x)", takt_rule_norm},
    {&takt_op_mul, "x * rsqrt(mean(x * x) + e) = rms_norm(x)", takt_rule_norm},
    {&takt_op_add, "x * s + (b - mean * s) = layer_norm(x), group_norm(x)", takt_rule_norm},
    {&takt_op_mul, "layer_norm(x) * g = layer_norm(x, g)", takt_rule_scaled_layer},
    {&takt_op_mul, "rms_norm(x) * g = rms_norm(x, g)", takt_rule_scaled_rms},
    {&takt_op_add, "layer_norm(x, g) + b = layer_norm(x, g, b)", takt_rule_shifted_norm},
    {&takt_op_add, "instance_norm of groups * g + b = group_norm(x, g, b)", takt_rule_group},
    {&takt_op_add, "x * cos + (-x2, x1) * sin = rotary_embedding(x)", rotary},
    {&takt_op_concat, "(x1 * cos - x2 * sin, x2 * cos + x1 * sin) = rotary_embedding(x)", rotary},
    {&takt_op_reshape, "the same of neighbours side by side = rotary_embedding(x)", rotary},
    {&takt_op_reshape, "instance_norm of groups = group_norm(x)", takt_rule_group},
    {&takt_op_concat, "the phases of a picture = one transpose", blocks},
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
