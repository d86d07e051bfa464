/* fold_branches.c - parallel convolutions of one value whose results are added become one.
 *
 * Networks trained with parallel branches, to be merged afterwards, come with all of them: conv(x,
 * w) + conv(x, v) = conv(x, w + v), with the smaller window placed among the taps of the larger.
 * The new weights are expressions of constants, which the plan computes once; each is rounded once
 * more: docs/numerics.md, "Folded weights". */
#include "op/util/conv.h"
#include "pass/magnitude.h"
#include "pass/match.h"
#include "pass/passes.h"

enum { SPACE = 3 }; /* axes, at most */

/* conv(x, w) + bias + rest; the last two may be left out. */
typedef struct branch {
    takt_id conv, bias, rest;
} branch;

/* A convolution with fixed weights, in f32 or f64. */
static bool is_conv(const takt_graph *g, takt_id id)
{
    const takt_node *n = takt_match_op(g, id, &takt_op_conv);
    return n != NULL && takt_match_is_fixed(g, n->in[1]) &&
           (n->type->dtype == TAKT_F32 || n->type->dtype == TAKT_F64);
}

/* conv(x, w) + bias, or conv(x, w) alone. */
static bool is_branch(const takt_graph *g, takt_id id, branch *b)
{
    const takt_node *n = takt_match_op(g, id, &takt_op_add);
    *b = (branch){id, TAKT_NONE, TAKT_NONE};
    for (uint32_t i = 0; n != NULL && i < 2; i++)
        if (is_conv(g, n->in[i]) && takt_match_is_fixed(g, n->in[1 - i]))
            *b = (branch){n->in[i], n->in[1 - i], TAKT_NONE};
    return is_conv(g, b->conv) && takt_match_type(g, b->conv, takt_type_of(g, id));
}

/* Input `k` of the sum being rewritten, and the sums in it, have no other readers. */
static bool is_own(const takt_rewrite *r, uint32_t k)
{
    const takt_graph *g = r->in;
    const takt_node *n = takt_match_op(g, g->nodes[r->id].in[k], &takt_op_add);
    bool is = takt_match_single(r, k);
    for (uint32_t i = 0; n != NULL && i < 2; i++) {
        const takt_op *op = g->nodes[n->in[i]].op;
        is = is && ((op != &takt_op_add && op != &takt_op_conv) || r->uses[n->in[i]] == 1);
    }
    return is;
}

/* Input `k`: a branch, or a branch and something else. */
static bool find(takt_rewrite *r, const takt_node *n, uint32_t k, branch *b)
{
    const takt_graph *g = r->out;
    if (!is_own(r, k) || !takt_match_type(g, n->in[k], n->type))
        return false;
    if (is_branch(g, n->in[k], b))
        return true;
    const takt_node *sum = takt_match_op(g, n->in[k], &takt_op_add);
    for (uint32_t i = 2; sum != NULL && i-- > 0;)
        if (is_branch(g, sum->in[i], b) && takt_match_type(g, b->conv, n->type)) {
            b->rest = sum->in[1 - i];
            return true;
        }
    return false;
}

static int64_t item(const takt_attr *list, uint32_t i, int64_t otherwise)
{
    return i < list->count ? list->i64s[i] : otherwise;
}

/* Where the window of `b` begins among the taps of `a`, axis by axis; false if it does not fit
 * there, or if something else differs. */
static bool lies_in(const takt_graph *g, const takt_node *a, const takt_node *b, int64_t at[SPACE])
{
    const takt_type *w = takt_type_of(g, a->in[1]), *v = takt_type_of(g, b->in[1]);
    const bool is_nhwc = a->attr[TAKT_CONV_LAYOUT].i64 == TAKT_NHWC;
    const uint32_t axes = (uint32_t)w->rank - 2;
    const int space = is_nhwc ? 1 : 2, channel = is_nhwc ? w->rank - 1 : 1;
    if (a->in[0] != b->in[0] || w->rank != v->rank || axes > SPACE || w->dim[0] != v->dim[0] ||
        w->dim[channel] != v->dim[channel] ||
        a->attr[TAKT_CONV_LAYOUT].i64 != b->attr[TAKT_CONV_LAYOUT].i64 ||
        a->attr[TAKT_CONV_GROUPS].i64 != b->attr[TAKT_CONV_GROUPS].i64)
        return false;
    for (uint32_t i = 0; i < axes; i++) {
        const takt_attr *x = a->attr, *y = b->attr;
        const int64_t wide = w->dim[space + (int)i], narrow = v->dim[space + (int)i];
        at[i] = item(&x[TAKT_CONV_PAD], i, 0) - item(&y[TAKT_CONV_PAD], i, 0);
        if (item(&x[TAKT_CONV_STRIDE], i, 1) != item(&y[TAKT_CONV_STRIDE], i, 1) ||
            item(&x[TAKT_CONV_DILATION], i, 1) != 1 || item(&y[TAKT_CONV_DILATION], i, 1) != 1 ||
            at[i] < 0 || at[i] + narrow > wide)
            return false;
    }
    return true;
}

/* v with zeros around it, as large as w. */
static takt_id widened(takt_graph *g, takt_id v, takt_id w, const int64_t at[SPACE], bool is_nhwc)
{
    const takt_type large = *takt_type_of(g, w), small = *takt_type_of(g, v);
    int64_t before[TAKT_MAX_RANK] = {0}, after[TAKT_MAX_RANK] = {0};
    bool is_same = true;
    for (int i = 0; i < large.rank - 2; i++) {
        const int d = (is_nhwc ? 1 : 2) + i;
        before[d] = at[i];
        after[d] = large.dim[d] - small.dim[d] - at[i];
        is_same = is_same && before[d] == 0 && after[d] == 0;
    }
    const takt_named_attr attrs[] = {{"before", takt_attr_i64s(before, (size_t)large.rank)},
                                     {"after", takt_attr_i64s(after, (size_t)large.rank)}};
    return is_same ? v : takt_graph_call(g, &takt_op_pad, 1, &v, 2, attrs);
}

/* The sum of those present. */
static takt_id both(takt_graph *g, takt_id a, takt_id b)
{
    return a == TAKT_NONE ? b : b == TAKT_NONE ? a : takt_add(g, a, b);
}

static takt_id add(takt_rewrite *r, const takt_node *n)
{
    takt_graph *g = r->out;
    branch a, b;
    int64_t at[SPACE] = {0};
    if (!find(r, n, 0, &a) || !find(r, n, 1, &b) || a.conv == b.conv)
        return TAKT_NONE;
    if (!lies_in(g, &g->nodes[a.conv], &g->nodes[b.conv], at)) {
        const branch first = a;
        a = b;
        b = first;
        if (!lies_in(g, &g->nodes[a.conv], &g->nodes[b.conv], at))
            return g->nodes[a.conv].in[0] == g->nodes[b.conv].in[0]
                       ? takt_refuse(r, n, "neither window lies among the taps of the other")
                       : TAKT_NONE;
    }
    const takt_node wide = g->nodes[a.conv], narrow = g->nodes[b.conv];
    takt_magnitude sum = takt_magnitude_of(g, wide.in[1]);
    sum.most += takt_magnitude_of(g, narrow.in[1]).most;
    if (!takt_magnitude_fits(sum, sum.most, n->type->dtype))
        return takt_refuse(r, n, "the sum of two weights could overflow");
    const bool is_nhwc = wide.attr[TAKT_CONV_LAYOUT].i64 == TAKT_NHWC;
    const takt_id w = takt_add(g, wide.in[1], widened(g, narrow.in[1], wide.in[1], at, is_nhwc));
    const takt_id y = takt_graph_append(g, wide.op, 2, (const takt_id[]){wide.in[0], w}, wide.attr);
    const takt_id bias = both(g, a.bias, b.bias), rest = both(g, a.rest, b.rest);
    return both(g, both(g, y, bias), rest);
}

static const takt_rule rules[] = {
    {&takt_op_add, "conv(x, w) + conv(x, v) = conv(x, w + v)", add},
};

const takt_pass takt_pass_fold_branches = {
    .name = "fold-branches",
    .summary = "add the weights of convolutions that are added",
    .licence = "Folded weights",
    TAKT_RULES(rules),
};
