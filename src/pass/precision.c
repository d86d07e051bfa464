/* precision.c - weights of products, convolutions and tables in 16 bits: what --precision f16 and
 * bf16 do.
 *
 * A weight w becomes widen(round(w)). Activations, sums, biases and everything else stay as they
 * are, so the error is that of rounding the weights once: docs/numerics.md, "Weights in 16 bits".
 */
#include "op/util/conv.h"
#include "pass/match.h"
#include "pass/passes.h"

enum { TO, TO_BF16 = 0, TO_F16 = 1 }; /* the argument, and its words */

static takt_dtype target(const takt_rewrite *r)
{
    return r->given->arg[TO] == TO_F16 ? TAKT_F16 : TAKT_BF16;
}

/* What rounds to at most f16's largest number; infinities are kept in any type. */
static bool fits_f16(takt_value_range w)
{
    return w.low > w.high || (w.low > -65520 && w.high < 65520);
}

/* The weights through 16 bits; TAKT_NONE if they are kept, or are narrow already. */
static takt_id rounded(takt_rewrite *r, const takt_node *n, uint32_t k)
{
    takt_graph *g = r->out;
    const takt_id w = n->in[k];
    const takt_node *made = &g->nodes[w];
    const takt_dtype to = target(r);
    if (made->type->dtype != TAKT_F32 || !takt_match_is_fixed(g, w))
        return TAKT_NONE;
    if (made->op == &takt_op_cast && takt_dtype_bits(takt_type_of(g, made->in[0])->dtype) <= 16)
        return TAKT_NONE;
    if (to == TAKT_F16 && !fits_f16(takt_rewrite_range(r, k)))
        return takt_refuse(r, n, "a weight is beyond f16's 65504; the others stay f32 with it");
    return takt_cast(g, takt_cast(g, w, to), TAKT_F32);
}

/* The node with input `k` rounded. */
static takt_id with_rounded(takt_rewrite *r, const takt_node *n, uint32_t k)
{
    const takt_id w = rounded(r, n, k);
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

static const char *const types[] = {[TO_BF16] = "bf16", [TO_F16] = "f16", NULL};

const takt_pass takt_pass_precision = {
    .name = "precision",
    .summary = "store weights of products in 16 bits",
    .licence = "Weights in 16 bits",
    .args = {[TO] = {.name = "to", .summary = "the type, bf16 or f16", .words = types}},
    .reads_ranges = true, /* what f16 cannot hold stays f32 */
    TAKT_RULES(rules),
};

takt_status takt_graph_narrow(const takt_graph *in, takt_dtype to, takt_pass_report *report,
                              takt_graph **out)
{
    takt_graph *marked;
    *out = NULL;
    const takt_pass_given given = {.arg[TO] = to == TAKT_F16 ? TO_F16 : TO_BF16};
    TAKT_TRY(takt_pass_apply_with(&takt_pass_precision, &given, in, report, &marked));
    const takt_status status = takt_pass_apply(&takt_pass_widen_late, marked, report, out);
    takt_graph_destroy(marked);
    return status;
}
