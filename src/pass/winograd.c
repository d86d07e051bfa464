/* winograd.c - 3x3 convolutions that a transform computes with fewer multiplications.
 *
 * Chosen by the weights' shape and the attributes alone, never by the size of an image or a batch,
 * so that bits depend on nothing else. The result differs from the direct sum within the bound of
 * docs/numerics.md, "Winograd".
 */
#include "op/util/conv.h"
#include "pass/match.h"
#include "pass/passes.h"

enum { CHANNELS = 16 }; /* fewer do not pay for the transforms */

static bool all_ones(const takt_attr *list)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (list->i64s[i] != 1)
            return false;
    return true;
}

static const takt_type *weights_of(const takt_graph *g, const takt_node *n)
{
    return n->op == &takt_op_conv_dw ? n->type : takt_type_of(g, n->in[1]);
}

/* Beyond 2, the turned convolution would begin inside dy. */
static bool pads_much(const takt_node *n)
{
    const takt_attr *pad = &n->attr[TAKT_CONV_PAD];
    for (uint32_t i = 0; n->op == &takt_op_conv_dx && i < pad->count / 2; i++)
        if (pad->i64s[i] > 2)
            return true;
    return false;
}

/* The transform is one of f32; factors of 16 bits are widened for it where the weights are fixed,
 * as inference has them, and the result is rounded once. */
static bool is_float(const takt_graph *g, const takt_node *n)
{
    const takt_dtype dtype = n->type->dtype;
    return dtype == TAKT_F32 || ((dtype == TAKT_F16 || dtype == TAKT_BF16) &&
                                 n->op == &takt_op_conv && takt_match_is_fixed(g, n->in[1]));
}

/* NULL if the transform can compute the convolution, else why not: "" if that is plain to see. */
static const char *refusal(const takt_graph *g, const takt_node *n)
{
    const takt_type *w = weights_of(g, n);
    const bool is_nhwc = n->attr[TAKT_CONV_LAYOUT].i64 == TAKT_NHWC;
    const int space = is_nhwc ? 1 : 2, channel = is_nhwc ? 3 : 1;
    if (!is_float(g, n) || w->rank != 4 || w->dim[space] != 3 || w->dim[space + 1] != 3)
        return "";
    if (!all_ones(&n->attr[TAKT_CONV_STRIDE]) || !all_ones(&n->attr[TAKT_CONV_DILATION]) ||
        n->attr[TAKT_CONV_GROUPS].i64 != 1)
        return "it has stride, dilation or groups";
    if (!takt_dim_is_number(w->dim[channel]) || w->dim[channel] < CHANNELS ||
        !takt_dim_is_number(w->dim[0]) || w->dim[0] < CHANNELS)
        return "it has fewer than 16 channels on one side";
    return pads_much(n) ? "it has more than 2 zeros of padding on one side" : NULL;
}

/* What computes it by the transform; NULL: it is no convolution. */
static const takt_op *form_of(const takt_op *op)
{
    return op == &takt_op_conv      ? &takt_op_winograd_conv
           : op == &takt_op_conv_dx ? &takt_op_winograd_conv_dx
           : op == &takt_op_conv_dw ? &takt_op_winograd_conv_dw
                                    : NULL;
}

bool takt_winograd_suits(const takt_graph *g, const takt_node *n)
{
    return form_of(n->op) != NULL && refusal(g, n) == NULL;
}

static takt_id conv(takt_rewrite *r, const takt_node *n)
{
    const char *why = refusal(r->out, n);
    if (why != NULL)
        return why[0] != '\0' ? takt_refuse(r, n, why) : TAKT_NONE;
    if (n->type->dtype == TAKT_F32)
        return takt_graph_append(r->out, form_of(n->op), 2, n->in, n->attr);
    const takt_id wide[] = {takt_cast(r->out, n->in[0], TAKT_F32),
                            takt_cast(r->out, n->in[1], TAKT_F32)};
    const takt_id y = takt_graph_append(r->out, form_of(n->op), 2, wide, n->attr);
    return takt_cast(r->out, y, n->type->dtype);
}

static const takt_rule rules[] = {
    {&takt_op_conv, "conv 3x3 = Winograd's F(4x4, 3x3)", conv},
    {&takt_op_conv_dx, "conv_dx 3x3 = Winograd's F(4x4, 3x3) with turned weights", conv},
    {&takt_op_conv_dw, "conv_dw 3x3 = Winograd's F(4x4, 3x3), transposed", conv},
};

const takt_pass takt_pass_winograd = {
    .name = "winograd",
    .summary = "compute 3x3 convolutions by Winograd's transform",
    .licence = "Winograd",
    TAKT_RULES(rules),
};
