/* winograd.c - 3x3 convolutions that a transform computes with fewer multiplications.
 *
 * Chosen by the weights' shape and the attributes alone, never by the size of an image or a batch,
 * so that bits depend on nothing else; a dilated one also by the size of its image. The result
 * differs from the direct sum within the bound of docs/numerics.md, "Winograd".
 */
#include "op/util/conv.h"
#include "pass/match.h"
#include "pass/passes.h"

/* With fewer channels on one side, the transforms cost more than they save; but from FROM to a few
 * outputs, the direct sum fills its vectors badly, and the transform wins where both numbers are
 * multiples of a vector (bench/notes/convolution.md). */
enum { CHANNELS = 16, FROM = 24, FEW = 8, VECTOR = 4 };

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

/* Beyond 2, the rotated convolution would begin inside dy. */
static bool pads_much(const takt_node *n)
{
    const takt_attr *pad = &n->attr[TAKT_CONV_PAD];
    for (uint32_t i = 0; n->op == &takt_op_conv_dx && i < pad->count / 2; i++)
        if (pad->i64s[i] > 2)
            return true;
    return false;
}

/* The transform computes in f32; factors of 16 bits are widened for it if the weights are fixed,
 * as in inference, and the result is rounded once. */
static bool is_float(const takt_graph *g, const takt_node *n)
{
    const takt_dtype dtype = n->type->dtype;
    return dtype == TAKT_F32 || ((dtype == TAKT_F16 || dtype == TAKT_BF16) &&
                                 n->op == &takt_op_conv && takt_match_is_fixed(g, n->in[1]));
}

/* The op that computes it by the transform; NULL: it is not a convolution. */
static const takt_op *form_of(const takt_op *op)
{
    return op == &takt_op_conv      ? &takt_op_winograd_conv
           : op == &takt_op_conv_dx ? &takt_op_winograd_conv_dx
           : op == &takt_op_conv_dw ? &takt_op_winograd_conv_dw
                                    : NULL;
}

/* ---- dilation ---- */

/* At least one in this many of the pixels that tiles of 4x4 compute must be used. */
enum { WASTE = 2, TILE = 4 };

/* Rows or columns of one phase of a dilated convolution along spatial axis `k`: every `d`th pixel.
 * 0: the phases differ, or the padding is not a whole number of steps. */
static int64_t phase_size(const takt_graph *g, const takt_node *n, uint32_t k)
{
    const takt_attr *pad = &n->attr[TAKT_CONV_PAD];
    const int64_t d =
        n->attr[TAKT_CONV_DILATION].count > k ? n->attr[TAKT_CONV_DILATION].i64s[k] : 1;
    const takt_dim size = takt_type_of(g, n->in[0])->dim[1 + k], out = n->type->dim[1 + k];
    const int64_t before = pad->count == 4 ? pad->i64s[k] : 0;
    const int64_t after = pad->count == 4 ? pad->i64s[k + 2] : 0;
    if (!takt_dim_is_number(size) || !takt_dim_is_number(out) || size <= 0 || out <= 0 ||
        size % d != 0 || out % d != 0 || before % d != 0 || after % d != 0)
        return 0;
    return out / d;
}

/* Its phases are convolutions without dilation, with channels last and enough pixels for tiles. */
static bool has_phases(const takt_graph *g, const takt_node *n)
{
    if (n->op != &takt_op_conv || n->attr[TAKT_CONV_LAYOUT].i64 != TAKT_NHWC)
        return false;
    const takt_type *x = takt_type_of(g, n->in[0]);
    if (!takt_dim_is_number(x->dim[0]) || !takt_dim_is_number(x->dim[3]))
        return false;
    int64_t wanted = 1, computed = 1;
    for (uint32_t k = 0; k < 2; k++) {
        const int64_t size = phase_size(g, n, k);
        if (size <= 0 || size > INT32_MAX)
            return false;
        wanted *= size;
        computed *= (size + TILE - 1) / TILE * TILE;
    }
    return computed <= WASTE * wanted;
}

/* [n, h, w, c] with its phases as samples, [n * d * d, h / d, w / d, c], or back. */
static takt_id phases(takt_graph *g, takt_id x, const int64_t d[2], bool back)
{
    static const int64_t apart[] = {0, 2, 4, 1, 3, 5}, together[] = {0, 3, 1, 4, 2, 5};
    const takt_dim *size = takt_type_of(g, x)->dim;
    const takt_dim n = size[0], h = size[1], w = size[2], c = size[3];
    if (back) {
        const takt_dim split[] = {n / (d[0] * d[1]), d[0], d[1], h, w, c};
        const takt_dim whole[] = {n / (d[0] * d[1]), h * d[0], w * d[1], c};
        return takt_reshape(g, takt_transpose(g, takt_reshape(g, x, split, 6), together, 6), whole,
                            4);
    }
    const takt_dim split[] = {n, h / d[0], d[0], w / d[1], d[1], c};
    const takt_dim whole[] = {n * d[0] * d[1], h / d[0], w / d[1], c};
    return takt_reshape(g, takt_transpose(g, takt_reshape(g, x, split, 6), apart, 6), whole, 4);
}

/* x and weights in f32; by phases where the convolution is dilated. */
static takt_id transformed(takt_graph *g, const takt_node *n, const takt_id in[2])
{
    const takt_attr *dilation = &n->attr[TAKT_CONV_DILATION];
    if (all_ones(dilation))
        return takt_graph_append(g, form_of(n->op), 2, in, n->attr);
    const int64_t d[2] = {dilation->i64s[0], dilation->i64s[1]};
    int64_t pad[4] = {0}, ones[2] = {1, 1};
    for (uint32_t i = 0; i < n->attr[TAKT_CONV_PAD].count && i < 4; i++)
        pad[i] = n->attr[TAKT_CONV_PAD].i64s[i] / d[i % 2];
    takt_attr attr[TAKT_CONV_LAYOUT + 1];
    for (int i = 0; i <= TAKT_CONV_LAYOUT; i++)
        attr[i] = n->attr[i];
    attr[TAKT_CONV_DILATION] = takt_attr_i64s(ones, 2);
    attr[TAKT_CONV_PAD] = takt_attr_i64s(pad, 4);
    const takt_id by_phase[] = {phases(g, in[0], d, false), in[1]};
    return phases(g, takt_graph_append(g, form_of(n->op), 2, by_phase, attr), d, true);
}

/* ---- groups ---- */

/* Each group by itself, of its channels of x; a group has at least GROUP of them, else moving them
 * takes longer than the transform saves. */
enum { GROUP = 32, GROUPS = 32 };

static int channel_axis(const takt_node *n)
{
    return n->attr[TAKT_CONV_LAYOUT].i64 == TAKT_NHWC ? 3 : 1;
}

static bool has_wide_groups(const takt_graph *g, const takt_node *n)
{
    const takt_type *w = weights_of(g, n);
    const int64_t groups = n->attr[TAKT_CONV_GROUPS].i64;
    const takt_dim in = w->dim[channel_axis(n)], out = w->dim[0];
    return n->op == &takt_op_conv && n->type->dtype == TAKT_F32 && groups > 1 && groups <= GROUPS &&
           all_ones(&n->attr[TAKT_CONV_DILATION]) && takt_dim_is_number(out) &&
           takt_dim_is_number(in) && in >= GROUP && out / groups >= GROUP &&
           takt_match_is_fixed(g, n->in[1]);
}

static takt_id by_groups(takt_graph *g, const takt_node *n)
{
    const takt_node node = *n; /* the graph grows */
    const takt_type w = *takt_type_of(g, n->in[1]);
    const int axis = channel_axis(n);
    const int64_t groups = node.attr[TAKT_CONV_GROUPS].i64;
    const int64_t in = w.dim[axis], out = w.dim[0] / groups;
    takt_attr attr[TAKT_CONV_LAYOUT + 1];
    takt_id parts[GROUPS];
    for (int i = 0; i <= TAKT_CONV_LAYOUT; i++)
        attr[i] = node.attr[i];
    attr[TAKT_CONV_GROUPS] = takt_attr_i64(1);
    for (int64_t k = 0; k < groups; k++) {
        const takt_id own[] = {takt_slice(g, node.in[0], axis, k * in, (k + 1) * in, 1),
                               takt_slice(g, node.in[1], 0, k * out, (k + 1) * out, 1)};
        parts[k] = takt_graph_append(g, form_of(node.op), 2, own, attr);
    }
    return takt_concat(g, parts, (size_t)groups, axis);
}

/* ---- what suits ---- */

static bool has_channels(const takt_node *n, takt_dim in, takt_dim out)
{
    if (!takt_dim_is_number(in) || !takt_dim_is_number(out))
        return false;
    const bool is_thin =
        n->op == &takt_op_conv && in >= FROM && out >= FEW && in % VECTOR == 0 && out % VECTOR == 0;
    return is_thin || (in >= CHANNELS && out >= CHANNELS);
}

/* NULL if the transform can compute the convolution, else why not: "" if that is obvious. */
static const char *refusal(const takt_graph *g, const takt_node *n)
{
    const takt_type *w = weights_of(g, n);
    const int channel = channel_axis(n), space = channel == 3 ? 1 : 2;
    if (!is_float(g, n) || w->rank != 4 || w->dim[space] != 3 || w->dim[space + 1] != 3)
        return "";
    const int64_t groups = n->attr[TAKT_CONV_GROUPS].i64;
    if (!all_ones(&n->attr[TAKT_CONV_STRIDE]) || (groups != 1 && !has_wide_groups(g, n)))
        return groups == 1 ? "it has stride"
                           : "it has stride, or groups that are narrow, dilated or change";
    if (!has_channels(n, w->dim[channel], w->dim[0]))
        return "it has fewer than 16 channels on one side";
    if (!all_ones(&n->attr[TAKT_CONV_DILATION]) && !has_phases(g, n))
        return "it is dilated, and its phases differ or are too small for tiles";
    return pads_much(n) ? "it has more than 2 zeros of padding on one side" : NULL;
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
    if (n->attr[TAKT_CONV_GROUPS].i64 > 1)
        return by_groups(r->out, n);
    if (n->type->dtype == TAKT_F32)
        return transformed(r->out, n, n->in);
    const takt_id wide[] = {takt_cast(r->out, n->in[0], TAKT_F32),
                            takt_cast(r->out, n->in[1], TAKT_F32)};
    return takt_cast(r->out, transformed(r->out, n, wide), n->type->dtype);
}

static const takt_rule rules[] = {
    {&takt_op_conv, "conv 3x3 = Winograd's F(4x4, 3x3)", conv},
    {&takt_op_conv_dx, "conv_dx 3x3 = Winograd's F(4x4, 3x3) with flipped weights", conv},
    {&takt_op_conv_dw, "conv_dw 3x3 = Winograd's F(4x4, 3x3), transposed", conv},
};

const takt_pass takt_pass_winograd = {
    .name = "winograd",
    .summary = "compute 3x3 convolutions by Winograd's transform",
    .licence = "Winograd",
    TAKT_RULES(rules),
};
