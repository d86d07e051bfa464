/* channels.c - quantised convolutions with channels last as convolutions with channels second,
 * which is what ONNX has.
 *
 * A convolution is written between its dequantised inputs and what quantises its result, without a
 * transpose there: other runtimes make one convolution of integers of that, and only of that.
 * Transposes move down through what computes each element by itself until they meet the next
 * convolution, where they vanish. Graphs without such convolutions stay as they are. */
#include "io/onnx/write/write.h"
#include "op/ops.h"
#include "op/util/conv.h"
#include "pass/fold_node.h"
#include "pass/match.h"
#include "pass/pass.h"

/* [N, C, ...] as [N, ..., C], or back. */
static void order(int64_t *perm, size_t rank, bool is_last)
{
    perm[0] = 0;
    for (size_t d = 1; d < rank; d++)
        perm[d] =
            is_last ? (d + 1 < rank ? (int64_t)d + 1 : 1) : (int64_t)(d > 1 ? d - 1 : rank - 1);
}

static takt_id moved(takt_graph *g, takt_id x, bool to_last)
{
    int64_t perm[TAKT_MAX_RANK];
    const size_t rank = (size_t)takt_type_of(g, x)->rank;
    order(perm, rank, to_last);
    return takt_transpose(g, x, perm, rank);
}

/* v, if x = transpose(v) has its channels moved to the end; else TAKT_NONE. */
static takt_id before_move(const takt_graph *g, takt_id x)
{
    int64_t perm[TAKT_MAX_RANK];
    const takt_node *n = takt_match_op(g, x, &takt_op_transpose);
    if (n == NULL || n->type->rank < 3)
        return TAKT_NONE;
    order(perm, (size_t)n->type->rank, true);
    for (int d = 0; d < n->type->rank; d++)
        if (n->attr[0].i64s[d] != perm[d])
            return TAKT_NONE;
    return n->in[0];
}

static bool is_one(const takt_graph *g, takt_id id)
{
    return id == TAKT_NONE || takt_type_of(g, id)->rank == 0;
}

/* ---- what computes each element by itself ---- */

static takt_id below(takt_rewrite *r, const takt_node *n)
{
    takt_graph *g = r->out;
    takt_id in[3] = {before_move(g, n->in[0]), TAKT_NONE, TAKT_NONE};
    if (in[0] == TAKT_NONE || n->in_count > 3 || n->out_count != 1)
        return TAKT_NONE;
    for (uint32_t k = 1; k < n->in_count; k++) {
        if (!is_one(g, n->in[k]))
            return TAKT_NONE;
        in[k] = n->in[k];
    }
    return moved(g, takt_graph_append(g, n->op, n->in_count, in, n->attr), true);
}

/* An operand next to v with channels second: of a value that was moved, of a scalar, or of a
 * vector along the channels; TAKT_NONE: it is none of these. */
static takt_id operand(takt_graph *g, takt_id x, const takt_type *v)
{
    const takt_type t = *takt_type_of(g, x);
    const takt_id from = before_move(g, x);
    if (from != TAKT_NONE)
        return takt_type_of(g, from)->rank == v->rank ? from : TAKT_NONE;
    if (t.rank == 0)
        return x;
    if (t.rank != 1 || t.dim[0] != v->dim[1])
        return TAKT_NONE;
    takt_dim dims[TAKT_MAX_RANK] = {t.dim[0]};
    for (int d = 1; d < v->rank - 1; d++)
        dims[d] = 1;
    return takt_reshape(g, x, dims, (size_t)v->rank - 1);
}

static takt_id below_two(takt_rewrite *r, const takt_node *n)
{
    takt_graph *g = r->out;
    const takt_id a = before_move(g, n->in[0]), b = before_move(g, n->in[1]);
    if (a == TAKT_NONE && b == TAKT_NONE)
        return TAKT_NONE;
    const takt_type v = *takt_type_of(g, a != TAKT_NONE ? a : b);
    const takt_id in[] = {operand(g, n->in[0], &v), operand(g, n->in[1], &v)};
    return in[0] == TAKT_NONE || in[1] == TAKT_NONE
               ? TAKT_NONE
               : moved(g, takt_graph_append(g, n->op, 2, in, n->attr), true);
}

/* ---- windows ---- */

static takt_id pool(takt_rewrite *r, const takt_node *n)
{
    takt_graph *g = r->out;
    const int at = takt_op_attr_index(n->op, "layout");
    const takt_id x = before_move(g, n->in[0]);
    takt_attr attrs[TAKT_MAX_ATTRS];
    if (x == TAKT_NONE || n->attr[at].i64 != TAKT_NHWC)
        return TAKT_NONE;
    takt_node_attrs(n, attrs);
    attrs[at].i64 = TAKT_NCHW;
    return moved(g, takt_graph_append(g, n->op, 1, &x, attrs), true);
}

/* The value of a node whose inputs are constants. */
static takt_id folded(takt_rewrite *r, takt_id id)
{
    if (id == TAKT_NONE || takt_match_is_constant(r->out, id))
        return id;
    const takt_node n = r->out->nodes[id];
    return takt_fold_node(r, &n);
}

/* Weights whose levels are constants, with what transposes them put before what dequantises them,
 * so that it vanishes; with to_second, [O, ..., I] becomes [O, I, ...], too. TAKT_NONE: others. */
static takt_id weights(takt_rewrite *r, takt_id w, bool to_second)
{
    enum { MOVES = 4 };
    takt_graph *g = r->out;
    takt_id moves[MOVES];
    size_t count = 0;
    for (; takt_match_op(g, w, &takt_op_transpose) != NULL && count < MOVES; count++) {
        moves[count] = w;
        w = takt_node_at(g, w)->in[0];
    }
    const takt_node d = *takt_node_at(g, w);
    if (d.op != &takt_op_dequantize || !takt_match_is_constant(g, d.in[0]))
        return TAKT_NONE;
    const int at = takt_op_attr_index(d.op, "axis");
    takt_attr attrs[TAKT_MAX_ATTRS];
    takt_id in[3] = {d.in[0], d.in[1], d.in_count > 2 ? d.in[2] : TAKT_NONE};
    takt_node_attrs(&d, attrs);
    int64_t axis = attrs[at].i64 + (attrs[at].i64 < 0 ? d.type->rank : 0);
    for (size_t i = count; i-- > 0 && in[0] != TAKT_NONE;) {
        const takt_node m = *takt_node_at(g, moves[i]);
        int64_t to = axis;
        for (int k = 0; k < m.type->rank; k++)
            to = m.attr[0].i64s[k] == axis ? k : to;
        axis = to;
        in[0] = folded(r, takt_graph_append(g, m.op, 1, in, m.attr));
    }
    if (in[0] != TAKT_NONE && to_second)
        in[0] = is_one(g, in[1]) || axis == 0 ? folded(r, moved(g, in[0], false)) : TAKT_NONE;
    if (in[0] == TAKT_NONE)
        return TAKT_NONE;
    attrs[at] = takt_attr_i64(is_one(g, in[1]) ? attrs[at].i64 : axis);
    return takt_graph_append(g, &takt_op_dequantize, d.in_count, in, attrs);
}

/* dequantize(q) with channels second, where the levels are moved, not the floats. */
static takt_id levels(takt_graph *g, takt_id x)
{
    const takt_id from = before_move(g, x);
    const takt_node *n = takt_match_op(g, x, &takt_op_dequantize);
    if (from != TAKT_NONE)
        return takt_match_op(g, from, &takt_op_dequantize) != NULL ? from : TAKT_NONE;
    if (n == NULL || !is_one(g, n->in[1]))
        return TAKT_NONE;
    takt_id in[3] = {n->in[0], n->in[1], n->in_count > 2 ? n->in[2] : TAKT_NONE};
    const uint32_t count = n->in_count;
    takt_attr attrs[TAKT_MAX_ATTRS];
    takt_node_attrs(n, attrs);
    in[0] = moved(g, in[0], false);
    return takt_graph_append(g, &takt_op_dequantize, count, in, attrs);
}

static takt_id convolution(takt_rewrite *r, const takt_node *n)
{
    takt_graph *g = r->out;
    takt_attr attrs[TAKT_MAX_ATTRS];
    if (n->attr[TAKT_CONV_LAYOUT].i64 != TAKT_NHWC || n->in_count != 2)
        return TAKT_NONE;
    const takt_id w = weights(r, n->in[1], true);
    const takt_id x = w != TAKT_NONE ? levels(g, n->in[0]) : TAKT_NONE;
    if (x == TAKT_NONE)
        return TAKT_NONE;
    takt_node_attrs(n, attrs);
    attrs[TAKT_CONV_LAYOUT].i64 = TAKT_NCHW;
    return moved(g, takt_graph_append(g, n->op, 2, (const takt_id[]){x, w}, attrs), true);
}

static takt_id product(takt_rewrite *r, const takt_node *n)
{
    if (takt_match_op(r->out, n->in[1], &takt_op_transpose) == NULL || n->in_count != 2)
        return TAKT_NONE;
    const takt_id in[] = {n->in[0], weights(r, n->in[1], false)};
    return in[1] == TAKT_NONE ? TAKT_NONE : takt_graph_append(r->out, n->op, 2, in, n->attr);
}

#define ONE "f(transpose(x)) = transpose(f(x))"
#define TWO "f(transpose(x), transpose(y)) = transpose(f(x, y))"

static const takt_rule rules[] = {
    {&takt_op_conv, "conv of dequantize, channels last = transpose(conv)", convolution},
    {&takt_op_matmul, "transpose(dequantize(w)) = dequantize(transpose(w))", product},
    {&takt_op_quantize, ONE, below},
    {&takt_op_dequantize, ONE, below},
    {&takt_op_relu, ONE, below},
    {&takt_op_relu6, ONE, below},
    {&takt_op_sigmoid, ONE, below},
    {&takt_op_tanh, ONE, below},
    {&takt_op_leaky_relu, ONE, below},
    {&takt_op_add, TWO, below_two},
    {&takt_op_sub, TWO, below_two},
    {&takt_op_mul, TWO, below_two},
    {&takt_op_max, TWO, below_two},
    {&takt_op_min, TWO, below_two},
    {&takt_op_max_pool, "pool(transpose(x)) = transpose(pool(x))", pool},
    {&takt_op_avg_pool, "pool(transpose(x)) = transpose(pool(x))", pool},
};

static const takt_pass second = {
    .name = "onnx-channels-second",
    .summary = "quantised convolutions with channels second",
    TAKT_RULES(rules),
};

/* ---- moves that are left ---- */

/* Levels are moved, not floats: onnxruntime 1.31 quantises floats that are moved between layers
 * once more, with a type that it then contradicts. */
static takt_id move_levels(takt_rewrite *r, const takt_node *n)
{
    takt_graph *g = r->out;
    const takt_node *d = takt_match_op(g, n->in[0], &takt_op_dequantize);
    if (d == NULL || !is_one(g, d->in[1]) || takt_match_is_constant(g, d->in[0]))
        return TAKT_NONE;
    takt_id in[3] = {d->in[0], d->in[1], d->in_count > 2 ? d->in[2] : TAKT_NONE};
    const uint32_t count = d->in_count;
    takt_attr attrs[TAKT_MAX_ATTRS];
    takt_node_attrs(d, attrs);
    in[0] = takt_graph_append(g, n->op, 1, in, n->attr);
    return takt_graph_append(g, &takt_op_dequantize, count, in, attrs);
}

static takt_id round_first(takt_rewrite *r, const takt_node *n)
{
    takt_graph *g = r->out;
    const takt_node move = *takt_node_at(g, n->in[0]);
    if ((move.op != &takt_op_transpose && move.op != &takt_op_reshape) || !is_one(g, n->in[1]))
        return TAKT_NONE;
    takt_attr attrs[TAKT_MAX_ATTRS];
    takt_id in[3] = {move.in[0], n->in[1], n->in_count > 2 ? n->in[2] : TAKT_NONE};
    takt_node_attrs(&move, attrs);
    const takt_id level = takt_graph_append(g, n->op, n->in_count, in, n->attr);
    return takt_graph_append(g, move.op, 1, &level, attrs);
}

static const takt_rule rest_rules[] = {
    {&takt_op_transpose, "transpose(dequantize(x)) = dequantize(transpose(x))", move_levels},
    {&takt_op_reshape, "reshape(dequantize(x)) = dequantize(reshape(x))", move_levels},
    {&takt_op_quantize, "quantize(move(x)) = move(quantize(x))", round_first},
};

static const takt_pass rest = {
    .name = "onnx-moved-levels",
    .summary = "moves of levels instead of floats",
    TAKT_RULES(rest_rules),
};

static bool is_dequantised(const takt_graph *g, takt_id w)
{
    const takt_node *n = takt_node_at(g, w);
    while (n->op == &takt_op_transpose)
        n = takt_node_at(g, n->in[0]);
    return n->op == &takt_op_dequantize;
}

bool takt_onnx_has_last_channels(const takt_graph *g)
{
    for (size_t i = 0; i < g->count; i++) {
        const takt_node *n = &g->nodes[i];
        const bool is_last = n->op == &takt_op_conv && n->attr[TAKT_CONV_LAYOUT].i64 == TAKT_NHWC,
                   is_moved = n->op == &takt_op_matmul &&
                              takt_match_op(g, n->in[1], &takt_op_transpose) != NULL;
        if ((is_last || is_moved) && is_dequantised(g, n->in[1]))
            return true;
    }
    return false;
}

takt_status takt_onnx_channels_second(const takt_graph *g, takt_graph **out)
{
    takt_graph *moved_down;
    TAKT_TRY(takt_pass_apply(&second, g, NULL, &moved_down));
    const takt_status status = takt_pass_apply(&rest, moved_down, NULL, out);
    takt_graph_destroy(moved_down);
    return status;
}
