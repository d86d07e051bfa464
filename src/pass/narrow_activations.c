/* narrow_activations.c - activations of convolutions in 16 bits, under `numerics = fast`.
 *
 * A convolution with channels last and constant weights becomes narrow_conv of bf16, and its result
 * is widened again. Subsequent ops (bias, residual, relu, bounds) move before the widening, into
 * the op; a convolution that reads a widened value reads its narrow source. Activations between
 * convolutions are then bf16, which the products would round them to in any case. */
#include "op/record/narrow_conv.h"
#include "op/util/narrow.h"
#include "pass/match.h"
#include "pass/passes.h"

#include <math.h>

/* The narrow_conv whose widened result is `id`, or NULL. */
static const takt_node *opened(const takt_graph *g, takt_id id)
{
    const takt_node *n = takt_match_op(g, id, &takt_op_cast);
    return n != NULL && n->type->dtype == TAKT_F32
               ? takt_match_op(g, n->in[0], &takt_op_narrow_conv)
               : NULL;
}

/* `id` in bf16: its source, if it was widened. */
static takt_id narrowed(takt_graph *g, takt_id id)
{
    const takt_node *n = takt_match_op(g, id, &takt_op_cast);
    if (n != NULL && takt_type_of(g, n->in[0])->dtype == TAKT_BF16)
        return n->in[0];
    n = takt_match_op(g, id, &takt_op_transpose);
    if (n == NULL)
        return takt_cast(g, id, TAKT_BF16);
    const takt_node old = *n; /* a copy: the graph grows; then half the bytes are transposed */
    const takt_id narrow = takt_cast(g, old.in[0], TAKT_BF16);
    return takt_graph_append(g, &takt_op_transpose, 1, &narrow, old.attr);
}

/* Whether a node after a convolution could be fused into its step in registers but not into
 * narrow_conv: values would go through memory for it. Users are near in the order of execution. */
static bool has_other_ends(const takt_graph *g, takt_id id)
{
    enum { NEAR = 24 };
    takt_id value = id;
    for (size_t i = id + 1; i < g->count && i <= (size_t)id + NEAR; i++) {
        const takt_node *n = &g->nodes[i];
        bool reads = false;
        for (uint32_t k = 0; k < n->in_count; k++)
            reads = reads || n->in[k] == value;
        if (!reads || (n->op->traits & TAKT_ELEMENTWISE) == 0 || n->op == &takt_op_cast)
            continue;
        if (n->op != &takt_op_add && n->op != &takt_op_relu && n->op != &takt_op_max &&
            n->op != &takt_op_min)
            return true;
        value = (takt_id)i;
    }
    return false;
}

/* Whether it gathers patches of few enough channels that f32 is faster. */
static bool is_meagre(const takt_type *w)
{
    return w->dim[1] * w->dim[2] > 1 && w->dim[0] < TAKT_NARROW_CHANNELS &&
           w->dim[3] < TAKT_NARROW_CHANNELS && w->dim[0] * w->dim[3] < TAKT_NARROW_CHANNELS;
}

static takt_id conv(takt_rewrite *r, const takt_node *n)
{
    takt_graph *g = r->out;
    const takt_type *w = takt_type_of(g, n->in[1]);
    const int64_t groups = n->attr[TAKT_CONV_GROUPS].i64;
    if (n->type->dtype != TAKT_F32 || n->attr[TAKT_CONV_LAYOUT].i64 != TAKT_NHWC || w->rank != 4)
        return TAKT_NONE;
    if (!takt_match_is_fixed(g, n->in[1]))
        return takt_refuse(r, n, "its weights are not constant");
    if (groups != 1 && (w->dim[0] != groups || w->dim[3] != 1))
        return takt_refuse(r, n, "it has groups of several channels");
    if (groups != 1 && w->dim[1] * w->dim[2] > TAKT_NARROW_TAPS)
        return takt_refuse(r, n, "it has more than 64 taps");
    if (groups == 1 && is_meagre(w))
        return takt_refuse(r, n, "it has so few channels that f32 is faster");
    if (has_other_ends(r->in, r->id))
        return takt_refuse(r, n, "what follows it is computed in f32");
    takt_attr attr[TAKT_NARROW_MAX + 1];
    for (int i = 0; i <= TAKT_CONV_LAYOUT; i++)
        attr[i] = n->attr[i];
    attr[TAKT_NARROW_MIN] = attr[TAKT_NARROW_MAX] = (takt_attr){.is_set = false};
    const takt_id in[] = {narrowed(g, n->in[0]), takt_cast(g, n->in[1], TAKT_BF16)};
    return takt_cast(g, takt_graph_append(g, &takt_op_narrow_conv, 2, in, attr), TAKT_F32);
}

/* The narrow_conv with one more input or bound, its result widened. */
static takt_id again(takt_graph *g, const takt_node *n, const takt_id *in, const takt_attr *attr)
{
    const uint32_t count = in[TAKT_NARROW_RESIDUAL] != TAKT_NONE ? TAKT_NARROW_RESIDUAL + 1
                           : in[TAKT_NARROW_BIAS] != TAKT_NONE   ? TAKT_NARROW_BIAS + 1
                                                                 : TAKT_NARROW_W + 1;
    return takt_cast(g, takt_graph_append(g, n->op, count, in, attr), TAKT_F32);
}

static void copy(const takt_node *n, takt_id *in, takt_attr *attr)
{
    for (uint32_t k = 0; k < TAKT_NARROW_INPUTS; k++)
        in[k] = k < n->in_count ? n->in[k] : TAKT_NONE;
    for (int i = 0; i <= TAKT_NARROW_MAX; i++)
        attr[i] = n->attr[i];
}

/* Every axis of the addend other than the channels has size 1. */
static bool is_per_channel(const takt_type *addend, takt_dim channels)
{
    for (int d = 0; d < addend->rank; d++)
        if (addend->dim[d] != (d == addend->rank - 1 ? channels : 1))
            return false;
    return addend->rank > 0;
}

static takt_id add(takt_rewrite *r, const takt_node *n)
{
    takt_graph *g = r->out;
    const uint32_t which = opened(g, n->in[0]) != NULL && takt_match_single(r, 0) ? 0 : 1;
    const takt_node *sum = opened(g, n->in[which]);
    if (sum == NULL || n->type->dtype != TAKT_F32 || !takt_match_type(g, n->in[which], n->type))
        return TAKT_NONE;
    if (!takt_match_single(r, which))
        return takt_refuse(r, n, "the convolution before it is used elsewhere too");
    const takt_node old = *sum; /* the graph grows */
    takt_id in[TAKT_NARROW_INPUTS];
    takt_attr attr[TAKT_NARROW_MAX + 1];
    copy(&old, in, attr);
    const takt_id addend = n->in[1 - which];
    const takt_type type = *takt_type_of(g, addend);
    const takt_dim channels = n->type->dim[n->type->rank - 1];
    if (attr[TAKT_NARROW_MIN].is_set || attr[TAKT_NARROW_MAX].is_set)
        return takt_refuse(r, n, "there are bounds before it");
    if (in[TAKT_NARROW_BIAS] == TAKT_NONE && takt_match_is_fixed(g, addend) &&
        is_per_channel(&type, channels))
        in[TAKT_NARROW_BIAS] = takt_reshape(g, addend, &channels, 1);
    else if (in[TAKT_NARROW_RESIDUAL] == TAKT_NONE && takt_match_type(g, addend, n->type))
        in[TAKT_NARROW_RESIDUAL] = narrowed(g, addend);
    else
        return takt_refuse(r, n, "the addend is neither one per channel nor of the same shape");
    return again(g, &old, in, attr);
}

/* A scalar constant of f32. */
static bool scalar_of(const takt_graph *g, takt_id id, double *value)
{
    const takt_node *n = takt_match_op(g, id, &takt_op_constant);
    if (n == NULL || n->type->dtype != TAKT_F32 || !takt_match_is_scalar(g, id))
        return false;
    *value = takt_dtype_get_f(TAKT_F32, takt_tensor_data(n->attr[0].tensor), 0);
    return isfinite(*value);
}

static takt_id bound(takt_rewrite *r, const takt_node *n)
{
    takt_graph *g = r->out;
    const uint32_t which = opened(g, n->in[0]) != NULL ? 0 : 1;
    const takt_node *sum = which < n->in_count ? opened(g, n->in[which]) : NULL;
    double value = 0;
    if (sum == NULL || !takt_match_single(r, which) || !takt_match_type(g, n->in[which], n->type) ||
        (n->op != &takt_op_relu && !scalar_of(g, n->in[1 - which], &value)))
        return TAKT_NONE;
    const takt_node old = *sum;
    takt_id in[TAKT_NARROW_INPUTS];
    takt_attr attr[TAKT_NARROW_MAX + 1];
    copy(&old, in, attr);
    const int at = n->op == &takt_op_min ? TAKT_NARROW_MAX : TAKT_NARROW_MIN;
    if (attr[at].is_set || attr[TAKT_NARROW_MAX].is_set ||
        (attr[TAKT_NARROW_MIN].is_set && attr[TAKT_NARROW_MIN].f64 > value))
        return takt_refuse(r, n, "there are other bounds before it");
    attr[at] = takt_attr_f64(value);
    return again(g, &old, in, attr);
}

/* Concatenated values stay narrow; no bit changes. */
static takt_id concat(takt_rewrite *r, const takt_node *n)
{
    enum { MOST = 64 };
    takt_graph *g = r->out;
    takt_id in[MOST];
    if (n->type->dtype != TAKT_F32 || n->in_count == 0 || n->in_count > MOST)
        return TAKT_NONE;
    for (uint32_t k = 0; k < n->in_count; k++) {
        const takt_node *x = takt_match_op(g, n->in[k], &takt_op_cast);
        if (x == NULL || takt_type_of(g, x->in[0])->dtype != TAKT_BF16)
            return TAKT_NONE;
        in[k] = x->in[0];
    }
    return takt_cast(g, takt_graph_append(g, n->op, n->in_count, in, n->attr), TAKT_F32);
}

/* No bit changes, and half the bytes are moved. */
static takt_id transpose(takt_rewrite *r, const takt_node *n)
{
    takt_graph *g = r->out;
    const takt_node *x = takt_match_op(g, n->in[0], &takt_op_cast);
    if (opened(g, n->in[0]) == NULL)
        return TAKT_NONE;
    const takt_id narrow = x->in[0];
    return takt_cast(g, takt_graph_append(g, n->op, 1, &narrow, n->attr), TAKT_F32);
}

/* The maximum is one of its inputs. */
static takt_id max_pool(takt_rewrite *r, const takt_node *n)
{
    if (takt_node_attr(n, "layout")->i64 != TAKT_NHWC)
        return TAKT_NONE;
    return transpose(r, n);
}

static const takt_rule rules[] = {
    {&takt_op_conv, "conv(x, w) = widen(narrow_conv(round(x), round(w)))", conv},
    {&takt_op_add, "narrow_conv + y = narrow_conv with its bias or residual", add},
    {&takt_op_relu, "relu(narrow_conv) = narrow_conv, at least 0", bound},
    {&takt_op_max, "max(narrow_conv, c) = narrow_conv, at least c", bound},
    {&takt_op_min, "min(narrow_conv, c) = narrow_conv, at most c", bound},
    {&takt_op_transpose, "transpose(widen(narrow_conv)) = widen(transpose(narrow_conv))",
     transpose},
    {&takt_op_max_pool, "max_pool(widen(narrow_conv)) = widen(max_pool(narrow_conv))", max_pool},
    {&takt_op_concat, "concat(widen(x), widen(y)) = widen(concat(x, y))", concat},
};

const takt_pass takt_pass_narrow_activations = {
    .name = "narrow-activations",
    .summary = "keep what convolutions read and write in 16 bits",
    .licence = "`numerics = fast`",
    TAKT_RULES(rules),
};
