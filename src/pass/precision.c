/* precision.c - weights of products, convolutions and tables in 16 bits: what --precision f16 and
 * bf16 do.
 *
 * A weight w becomes widen(round(w)). Activations, sums, biases and everything else stay as they
 * are, so the error is that of rounding the weights once: docs/numerics.md, "Weights in 16 bits".
 */
#include "op/util/conv.h"
#include "pass/match.h"
#include "pass/passes.h"

#include <math.h>

static takt_dtype target(const takt_rewrite *r)
{
    return r->pass == &takt_pass_precision_f16 ? TAKT_F16 : TAKT_BF16;
}

/* What rounds to f16's largest number at most; infinities stay what they are in any type. */
static bool fits_f16(const takt_tensor *t)
{
    const float *x = takt_tensor_data(t);
    const size_t count = takt_tensor_count(t);
    bool fits = true;
    for (size_t i = 0; i < count; i++)
        fits = fits && !(fabsf(x[i]) >= 65520 && fabsf(x[i]) < INFINITY);
    return fits;
}

/* The weights through 16 bits; TAKT_NONE if they stay, or are narrow already. */
static takt_id rounded(takt_rewrite *r, const takt_node *n, takt_id w)
{
    takt_graph *g = r->out;
    const takt_node *made = &g->nodes[w];
    const takt_dtype to = target(r);
    if (made->type->dtype != TAKT_F32 || !takt_match_is_fixed(g, w))
        return TAKT_NONE;
    if (made->op == &takt_op_cast && takt_dtype_bits(takt_type_of(g, made->in[0])->dtype) <= 16)
        return TAKT_NONE;
    if (to == TAKT_F16 && made->op == &takt_op_constant && !fits_f16(made->attr[0].tensor))
        return takt_refuse(r, n, "a weight is beyond f16's 65504; the others stay f32 with it");
    return takt_cast(g, takt_cast(g, w, to), TAKT_F32);
}

/* The node with input `k` rounded. */
static takt_id with_rounded(takt_rewrite *r, const takt_node *n, uint32_t k)
{
    const takt_id w = rounded(r, n, n->in[k]);
    if (w == TAKT_NONE)
        return TAKT_NONE;
    takt_id in[2] = {n->in[0], n->in[1]};
    in[k] = w;
    return takt_graph_append(r->out, n->op, 2, in, n->attr);
}

static takt_id product(takt_rewrite *r, const takt_node *n)
{
    if (takt_match_is_fixed(r->out, n->in[0]) && n->type->dtype == TAKT_F32)
        return takt_refuse(r, n, "its weights are the first factor, which is not packed");
    return with_rounded(r, n, 1);
}

static takt_id conv(takt_rewrite *r, const takt_node *n)
{
    const takt_type *w = takt_type_of(r->out, n->in[1]);
    const int64_t groups = n->attr[TAKT_CONV_GROUPS].i64;
    if (n->op == &takt_op_conv && groups > 1 && w->dim[0] == groups)
        return takt_refuse(r, n, "a depthwise convolution has few weights");
    return with_rounded(r, n, 1);
}

static takt_id table(takt_rewrite *r, const takt_node *n)
{
    return takt_type_of(r->out, n->in[0])->rank >= 2 ? with_rounded(r, n, 0) : TAKT_NONE;
}

static const takt_rule rules[] = {
    {&takt_op_matmul, "matmul(x, w) = matmul(x, round(w))", product},
    {&takt_op_conv, "conv(x, w) = conv(x, round(w))", conv},
    {&takt_op_winograd_conv, "winograd_conv(x, w) = winograd_conv(x, round(w))", conv},
    {&takt_op_gather, "gather(w, i) = gather(round(w), i)", table},
};

const takt_pass takt_pass_precision_f16 = {
    .name = "precision-f16",
    .summary = "store weights of products in f16",
    .licence = "Weights in 16 bits",
    TAKT_RULES(rules),
};

const takt_pass takt_pass_precision_bf16 = {
    .name = "precision-bf16",
    .summary = "store weights of products in bf16",
    .licence = "Weights in 16 bits",
    TAKT_RULES(rules),
};

takt_status takt_graph_narrow(const takt_graph *in, takt_dtype to, takt_pass_report *report,
                              takt_graph **out)
{
    takt_graph *marked;
    *out = NULL;
    TAKT_TRY(takt_pass_apply(to == TAKT_F16 ? &takt_pass_precision_f16 : &takt_pass_precision_bf16,
                             in, report, &marked));
    const takt_status status = takt_pass_apply(&takt_pass_widen_late, marked, report, out);
    takt_graph_destroy(marked);
    return status;
}
