/* fold_weights.c - scales after a convolution or product move into its weights.
 *
 * The new weights are expressions of constants, which the plan computes once. A result changes by
 * the rounding of a few weights: docs/numerics.md, "Folded weights". Nothing is folded where the
 * change could be larger: in 16 bits, and where a scaled weight overflows or underflows although
 * the scaled result does not. */
#include <math.h>

#include "op/util/norm.h"
#include "pass/magnitude.h"
#include "pass/match.h"
#include "pass/passes.h"

/* A weight in 16 bits would lose precision that the sum of products in f32 keeps. Integers wrap, so
 * the order of their products is free. */
static bool is_narrow(takt_dtype dtype)
{
    return takt_dtype_is_float(dtype) && takt_dtype_bits(dtype) <= 16;
}

/* Weights w times values of c stay normal numbers with full precision. */
static bool in_range(const takt_graph *g, takt_id w, takt_magnitude c)
{
    const takt_dtype dtype = takt_type_of(g, w)->dtype;
    if (!takt_dtype_is_float(dtype))
        return true;
    const takt_magnitude m = takt_magnitude_of(g, w);
    return takt_magnitude_fits(takt_magnitude_mul(m, c), m.most * c.least, dtype);
}

/* Whether the weights w of a sum before `n` can be scaled by c; says why not. */
static bool can_scale(takt_rewrite *r, const takt_node *n, takt_id w, takt_id c)
{
    if (is_narrow(n->type->dtype))
        takt_refuse(r, n, "weights of 16 bits would be rounded to them once more");
    else if (!in_range(r->out, w, takt_magnitude_of(r->out, c)))
        takt_refuse(r, n, "a scaled weight could overflow or vanish");
    else
        return true;
    return false;
}

/* `vector` over output channels against weights [O, ...]. */
static takt_id per_output(takt_graph *g, takt_id vector, takt_id weights)
{
    const takt_type *type = takt_type_of(g, weights);
    takt_dim dims[TAKT_MAX_RANK];
    for (int d = 0; d < type->rank; d++)
        dims[d] = d == 0 ? type->dim[0] : 1;
    return takt_reshape(g, vector, dims, (size_t)type->rank);
}

static takt_id scaled_conv(takt_graph *g, takt_id conv, takt_id vector)
{
    const takt_node n = g->nodes[conv];
    const takt_id weights = takt_mul(g, n.in[1], per_output(g, vector, n.in[1]));
    return takt_graph_append(g, n.op, 2, (const takt_id[]){n.in[0], weights}, n.attr);
}

/* A convolution with fixed weights that only this node reads. */
static const takt_node *own_conv(takt_rewrite *r, const takt_node *n)
{
    const takt_node *conv = takt_match_op(r->out, n->in[0], &takt_op_conv);
    if (conv == NULL || !takt_match_is_fixed(r->out, conv->in[1]))
        return NULL;
    if (takt_match_single(r, 0))
        return conv;
    takt_refuse(r, n, "the convolution before it is used elsewhere too");
    return NULL;
}

/* The only axis of `id` with more than one element, counted from the end of `rank` axes; -1 if all
 * have one, -2 if several have more. */
static int only_axis(const takt_graph *g, takt_id id, int rank)
{
    const takt_type *type = takt_type_of(g, id);
    int axis = -1;
    for (int d = 0; d < type->rank; d++) {
        if (type->dim[d] == 1)
            continue;
        if (axis != -1)
            return -2;
        axis = rank - type->rank + d;
    }
    return axis;
}

static takt_id flat(takt_graph *g, takt_id id, takt_dim count)
{
    if (takt_match_is_scalar(g, id))
        return takt_broadcast(g, takt_reshape(g, id, NULL, 0), &count, 1);
    return takt_reshape(g, id, &count, 1);
}

/* A convolution and the bias that is added to it; TAKT_NONE: there is none. */
typedef struct layer {
    takt_id conv, bias;
} layer;

/* Whether node `id` of the graph being rewritten adds something to a value that nothing else reads,
 * its input `k`. */
static bool adds_to_own(const takt_rewrite *r, takt_id id, uint32_t k)
{
    const takt_node *n = &r->in->nodes[id];
    return n->op == &takt_op_add && n->in_count == 2 && r->uses[n->in[k]] == 1;
}

/* The convolution before `n`, with a bias that is one per channel, or without. */
static layer own_layer(takt_rewrite *r, const takt_node *n)
{
    const layer none = {TAKT_NONE, TAKT_NONE};
    const takt_graph *g = r->out;
    const takt_node *add = takt_match_op(g, n->in[0], &takt_op_add);
    if (add == NULL)
        return own_conv(r, n) != NULL ? (layer){n->in[0], TAKT_NONE} : none;
    const uint32_t k = takt_match_op(g, add->in[0], &takt_op_conv) != NULL ? 0 : 1;
    const takt_node *conv = takt_match_op(g, add->in[k], &takt_op_conv);
    const takt_id bias = add->in[1 - k];
    if (conv == NULL || !takt_match_is_fixed(g, conv->in[1]) || !takt_match_is_fixed(g, bias) ||
        !takt_match_type(g, add->in[k], add->type))
        return none;
    const bool is_nhwc = takt_node_attr(conv, "layout")->i64 == TAKT_NHWC;
    const int axis = only_axis(g, bias, add->type->rank);
    if (axis != -1 && axis != (is_nhwc ? add->type->rank - 1 : 1))
        return none;
    if (takt_match_single(r, 0) && adds_to_own(r, r->in->nodes[r->id].in[0], k))
        return (layer){add->in[k], bias};
    takt_refuse(r, n, "the convolution before it is used elsewhere too");
    return none;
}

/* x * scale + shift with scale = gamma / sqrt(var + epsilon), shift = beta - mean * scale. */
static takt_id batch_norm(takt_rewrite *r, const takt_node *n)
{
    takt_graph *g = r->out;
    for (uint32_t k = 1; k < n->in_count; k++)
        if (!takt_match_is_fixed(g, n->in[k]))
            return takt_refuse(r, n, "its statistics are not constants");
    const double epsilon = takt_node_attr(n, "epsilon")->f64;
    const int64_t layout = takt_node_attr(n, "layout")->i64;
    if (is_narrow(n->type->dtype))
        return takt_refuse(r, n, "its factors would be rounded to 16 bits");
    const takt_magnitude factor = takt_magnitude_over_root(takt_magnitude_of(g, n->in[1]),
                                                           takt_magnitude_of(g, n->in[4]), epsilon);
    const takt_magnitude moved = takt_magnitude_mul(takt_magnitude_of(g, n->in[3]), factor);
    if (!takt_magnitude_fits(factor, INFINITY, n->type->dtype) ||
        !takt_magnitude_fits(moved, INFINITY, n->type->dtype))
        return takt_refuse(r, n, "its factors could overflow");
    layer l = own_layer(r, n);
    if (l.conv != TAKT_NONE && !in_range(g, g->nodes[l.conv].in[1], factor))
        l.conv = TAKT_NONE;
    if (l.bias != TAKT_NONE &&
        !takt_magnitude_fits(takt_magnitude_mul(takt_magnitude_of(g, l.bias), factor), INFINITY,
                             n->type->dtype))
        l.conv = TAKT_NONE;
    const takt_id root = takt_unary(g, &takt_op_sqrt, takt_add_scalar(g, n->in[4], epsilon));
    const takt_id scale = takt_div(g, n->in[1], root);
    takt_id shift = takt_sub(g, n->in[2], takt_mul(g, n->in[3], scale));
    if (l.conv != TAKT_NONE && l.bias != TAKT_NONE) {
        const takt_id bias = flat(g, l.bias, takt_type_of(g, scale)->dim[0]);
        shift = takt_add(g, takt_mul(g, bias, scale), shift);
    }
    const int rank = n->type->rank;
    const takt_id x = l.conv != TAKT_NONE
                          ? scaled_conv(g, l.conv, scale)
                          : takt_mul(g, n->in[0], takt_per_channel(g, scale, rank, layout));
    return takt_add(g, x, takt_per_channel(g, shift, rank, layout));
}

static takt_id scale_conv(takt_rewrite *r, const takt_node *n)
{
    takt_graph *g = r->out;
    if (!takt_match_is_fixed(g, n->in[1]) || takt_match_op(g, n->in[0], &takt_op_conv) == NULL ||
        !takt_match_type(g, n->in[0], n->type))
        return TAKT_NONE;
    const takt_node *conv = own_conv(r, n);
    if (conv == NULL)
        return TAKT_NONE;
    const bool is_nhwc = takt_node_attr(conv, "layout")->i64 == TAKT_NHWC;
    const int channel = is_nhwc ? n->type->rank - 1 : 1;
    const int axis = only_axis(g, n->in[1], n->type->rank);
    if (axis != -1 && axis != channel)
        return takt_refuse(r, n, "the factor is not one per channel");
    if (!can_scale(r, n, conv->in[1], n->in[1]))
        return TAKT_NONE;
    return scaled_conv(g, n->in[0], flat(g, n->in[1], n->type->dim[channel]));
}

static takt_id scale_matmul(takt_rewrite *r, const takt_node *n)
{
    takt_graph *g = r->out;
    const takt_node *mm = takt_match_op(g, n->in[0], &takt_op_matmul);
    if (mm == NULL || !takt_match_is_fixed(g, n->in[1]) || !takt_match_is_fixed(g, mm->in[1]) ||
        takt_type_of(g, mm->in[1])->rank != 2 || !takt_match_type(g, n->in[0], n->type))
        return TAKT_NONE;
    if (!takt_match_single(r, 0))
        return takt_refuse(r, n, "the product before it is used elsewhere too");
    const int last = n->type->rank - 1, axis = only_axis(g, n->in[1], n->type->rank);
    if (axis != -1 && axis != last)
        return takt_refuse(r, n, "the factor is not one per column");
    if (!can_scale(r, n, mm->in[1], n->in[1]))
        return TAKT_NONE;
    const bool transposed = takt_node_attr(mm, "transpose_b")->boolean;
    const bool transpose_a = takt_node_attr(mm, "transpose_a")->boolean;
    const takt_id x = mm->in[0], w = mm->in[1];
    const takt_dim column[2] = {n->type->dim[last], 1};
    takt_id factor = flat(g, n->in[1], n->type->dim[last]);
    if (transposed)
        factor = takt_reshape(g, factor, column, 2);
    return takt_matmul(g, x, takt_mul(g, w, factor), transpose_a, transposed);
}

static const takt_rule rules[] = {
    {&takt_op_batch_norm, "batch_norm(conv(x, w)) = conv(x, w * scale) + shift", batch_norm},
    {&takt_op_mul, "conv(x, w) * c = conv(x, w * c)", scale_conv},
    {&takt_op_mul, "matmul(x, w) * c = matmul(x, w * c)", scale_matmul},
};

const takt_pass takt_pass_fold_weights = {
    .name = "fold-weights",
    .summary = "move scales and batch normalisation into weights",
    .licence = "Folded weights",
    TAKT_RULES(rules),
};
