/* groups_ops.c - which indices of an op's inputs and results belong together. */
#include "op/ops.h"
#include "op/util/conv.h"
#include "shrink/groups.h"

typedef takt_axis_ref ref;

static const takt_type *type_at(const takt_groups *g, takt_id id)
{
    return g->nodes[id].type;
}

static takt_dim size_at(const takt_groups *g, ref r)
{
    return type_at(g, r.node)->dim[r.axis];
}

static int channel_axis(const takt_groups *g, takt_id id, bool is_last)
{
    return is_last ? type_at(g, id)->rank - 1 : 1;
}

/* Axes counted from the end belong together where they have the same size: broadcasting. */
static void aligned(takt_groups *g, takt_id x, takt_id y)
{
    const int more = type_at(g, y)->rank - type_at(g, x)->rank;
    for (int d = 0; d < type_at(g, x)->rank; d++) {
        const ref u = {x, d}, v = {y, d + more};
        if (d + more >= 0 && size_at(g, u) == size_at(g, v))
            takt_groups_same(g, u, v);
    }
}

void takt_groups_block_node(takt_groups *g, const takt_node *n, takt_id id)
{
    takt_groups_block_all(g, id);
    for (uint32_t k = 0; k < n->in_count; k++)
        if (n->in[k] != TAKT_NONE)
            takt_groups_block_all(g, n->in[k]);
}

/* ---- products ---- */

static void conv(takt_groups *g, const takt_node *n, takt_id id, bool is_last)
{
    const bool nhwc = n->attr[TAKT_CONV_LAYOUT].i64 == TAKT_NHWC;
    const int64_t groups = n->attr[TAKT_CONV_GROUPS].i64;
    const takt_id x = n->in[0], w = n->in[1];
    const ref xc = {x, channel_axis(g, x, nhwc)}, yc = {id, channel_axis(g, id, nhwc)};
    const ref wo = {w, 0}, wi = {w, channel_axis(g, w, nhwc)};
    const takt_dim in = size_at(g, xc), out = size_at(g, yc), inner = size_at(g, wi);
    takt_groups_same(g, yc, wo);
    if (groups == 1) {
        takt_groups_same(g, xc, wi);
    } else if (inner == 1 && groups == in) {
        takt_groups_link(g, yc, xc, (takt_axis_map){out / in, in, 1, 0});
    } else { /* every group loses the same number */
        takt_groups_link(g, xc, wi, (takt_axis_map){1, inner, 1, 0});
        takt_groups_link(g, yc, yc, (takt_axis_map){1, out / groups, 1, 0});
    }
    for (int d = 1; is_last && d < type_at(g, w)->rank; d++)
        if (d != wi.axis)
            takt_groups_block(g, (ref){w, d});
    for (int d = 0; is_last && d < type_at(g, x)->rank; d++) {
        if (d != xc.axis)
            takt_groups_block(g, (ref){x, d});
        if (d != yc.axis)
            takt_groups_block(g, (ref){id, d});
    }
}

/* The transposed convolution: weights [in, out / groups, ...]. */
static void conv_dx(takt_groups *g, const takt_node *n, takt_id id, bool is_last)
{
    const bool nhwc = n->attr[TAKT_CONV_LAYOUT].i64 == TAKT_NHWC;
    if (n->attr[TAKT_CONV_GROUPS].i64 != 1) {
        if (is_last)
            takt_groups_block_node(g, n, id);
        return;
    }
    const takt_id x = n->in[0], w = n->in[1];
    takt_groups_same(g, (ref){x, channel_axis(g, x, nhwc)}, (ref){w, 0});
    takt_groups_same(g, (ref){id, channel_axis(g, id, nhwc)}, (ref){w, channel_axis(g, w, nhwc)});
}

static void matmul(takt_groups *g, const takt_node *n, takt_id id, bool is_last)
{
    const takt_id a = n->in[0], b = n->in[1];
    const int ra = type_at(g, a)->rank, rb = type_at(g, b)->rank, ry = type_at(g, id)->rank;
    if (ra < 2 || rb < 2) {
        if (is_last)
            takt_groups_block_node(g, n, id);
        return;
    }
    const bool ta = takt_node_attr(n, "transpose_a")->boolean;
    const bool tb = takt_node_attr(n, "transpose_b")->boolean;
    takt_groups_same(g, (ref){a, ta ? ra - 2 : ra - 1}, (ref){b, tb ? rb - 1 : rb - 2});
    takt_groups_same(g, (ref){b, tb ? rb - 2 : rb - 1}, (ref){id, ry - 1});
    takt_groups_same(g, (ref){a, ta ? ra - 1 : ra - 2}, (ref){id, ry - 2});
    for (int k = 3; k <= ry; k++) {
        const ref y = {id, ry - k}, u = {a, ra - k}, v = {b, rb - k};
        if (k <= ra && size_at(g, u) == size_at(g, y))
            takt_groups_same(g, u, y);
        if (k <= rb && size_at(g, v) == size_at(g, y))
            takt_groups_same(g, v, y);
    }
}

/* A head that has its own part of the mask takes it along; the mask's other axes are kept. */
static void mask_of_heads(takt_groups *g, takt_id mask, ref q, int64_t heads, bool is_last)
{
    const ref by_head = {mask, type_at(g, mask)->rank - 3};
    const bool has_own = by_head.axis >= 0 && heads > 1 && size_at(g, by_head) == heads;
    if (has_own)
        takt_groups_link(g, by_head, q, (takt_axis_map){1, heads, size_at(g, q) / heads, 0});
    for (int d = 0; is_last && d < type_at(g, mask)->rank; d++)
        if (!has_own || d != by_head.axis)
            takt_groups_block(g, (ref){mask, d});
}

/* A head is removed as a whole: all of its indices in q, k, v and the result. */
static void attention(takt_groups *g, const takt_node *n, takt_id id, bool is_last)
{
    const int64_t heads = takt_node_int(n, "heads"), kv = takt_node_int(n, "kv_heads");
    const takt_id all[] = {n->in[0], n->in[1], n->in[2], id};
    const ref q = {n->in[0], type_at(g, n->in[0])->rank - 1};
    const takt_dim width = size_at(g, q);
    if ((kv != 0 && kv != heads) || !takt_dim_is_number(width) || width % heads != 0) {
        if (is_last)
            takt_groups_block_node(g, n, id);
        return;
    }
    for (size_t k = 0; k < 4; k++) {
        const ref u = {all[k], type_at(g, all[k])->rank - 1};
        const takt_dim own = size_at(g, u);
        if (takt_dim_is_number(own) && own % heads == 0)
            takt_groups_link(g, u, q, (takt_axis_map){own / heads, heads, width / heads, 0});
    }
    if (n->in_count > 3 && n->in[3] != TAKT_NONE)
        mask_of_heads(g, n->in[3], q, heads, is_last);
}

/* ---- moves ---- */

static void transpose(takt_groups *g, const takt_node *n, takt_id id)
{
    const takt_attr *perm = takt_node_attr(n, "perm");
    const int rank = n->type->rank;
    for (int d = 0; d < rank; d++)
        takt_groups_same(g, (ref){id, d},
                         (ref){n->in[0], perm->count > 0 ? (int)perm->i64s[d] : rank - 1 - d});
}

static void concat(takt_groups *g, const takt_node *n, takt_id id)
{
    const int rank = n->type->rank;
    const int axis = (int)((takt_node_int(n, "axis") + rank) % rank);
    int64_t offset = 0;
    for (uint32_t k = 0; k < n->in_count; k++) {
        for (int d = 0; d < rank; d++)
            if (d != axis)
                takt_groups_same(g, (ref){n->in[k], d}, (ref){id, d});
        const takt_dim size = size_at(g, (ref){n->in[k], axis});
        if (!takt_dim_is_number(size)) {
            takt_groups_block(g, (ref){id, axis});
            return;
        }
        takt_groups_link(g, (ref){n->in[k], axis}, (ref){id, axis},
                         (takt_axis_map){1, size > 0 ? size : 1, 1, offset});
        offset += size;
    }
}

/* The new axis is kept: it counts the inputs. */
static void stack(takt_groups *g, const takt_node *n, takt_id id, bool is_last)
{
    const int rank = n->type->rank;
    const int axis = (int)((takt_node_int(n, "axis") + rank) % rank);
    for (uint32_t k = 0; k < n->in_count; k++)
        for (int d = 0; d < rank - 1; d++)
            takt_groups_same(g, (ref){n->in[k], d}, (ref){id, d < axis ? d : d + 1});
    if (is_last)
        takt_groups_block(g, (ref){id, axis});
}

/* Axes that are not cut; the others are kept. */
static void whole_axes(takt_groups *g, const takt_node *n, takt_id id, bool is_last)
{
    for (int d = 0; d < n->type->rank; d++) {
        const ref u = {n->in[0], d}, v = {id, d};
        if (size_at(g, u) == size_at(g, v)) {
            takt_groups_same(g, u, v);
        } else if (is_last) {
            takt_groups_block(g, u);
            takt_groups_block(g, v);
        }
    }
}

/* One axis and those that it is split into or merged from. `one` is on the side with a single
 * axis. */
static void segment(takt_groups *g, ref one, ref many, int last, bool splits, bool is_last)
{
    int64_t stride = 1;
    bool found = false;
    for (int d = last - 1; d >= many.axis; d--) {
        const ref v = {many.node, d};
        const takt_dim size = size_at(g, v);
        /* Split: the outermost axis represents whole parts. Merged: whichever was reached. */
        const bool leads = splits ? d == many.axis : takt_groups_is_active(g, v);
        if (size > 1 && leads) {
            takt_groups_link(g, one, v, (takt_axis_map){stride, size, 1, 0});
            found = true;
        } else if (is_last && splits) {
            takt_groups_block(g, v);
        }
        stride *= size;
    }
    if (is_last && !found)
        takt_groups_block(g, one);
}

static void reshape(takt_groups *g, const takt_node *n, takt_id id, bool is_last)
{
    const takt_id x = n->in[0];
    const takt_type *a = type_at(g, x), *b = type_at(g, id);
    int i = 0, j = 0;
    while (i < a->rank && j < b->rank) {
        int i2 = i + 1, j2 = j + 1;
        takt_dim p = a->dim[i], q = b->dim[j];
        if (p == q) {
            takt_groups_same(g, (ref){x, i++}, (ref){id, j++});
            continue;
        }
        if (p == 1 || q == 1) { /* added or removed, perhaps next to a size without a number */
            const ref one = p == 1 ? (ref){x, i++} : (ref){id, j++};
            if (is_last)
                takt_groups_block(g, one);
            continue;
        }
        while (takt_dim_is_number(p) && takt_dim_is_number(q) && p != q) {
            if (p < q && i2 < a->rank && takt_dim_is_number(a->dim[i2]))
                p *= a->dim[i2++];
            else if (q < p && j2 < b->rank && takt_dim_is_number(b->dim[j2]))
                q *= b->dim[j2++];
            else
                break;
        }
        const bool fits = p == q;
        if (fits && i2 - i == 1) {
            segment(g, (ref){x, i}, (ref){id, j}, j2, true, is_last);
        } else if (fits && j2 - j == 1) {
            segment(g, (ref){id, j}, (ref){x, i}, i2, false, is_last);
        } else if (is_last) {
            takt_groups_block_node(g, n, id);
            return;
        } else {
            return;
        }
        i = i2;
        j = j2;
    }
}

/* ---- norms and reductions ---- */

static void per_channel(takt_groups *g, const takt_node *n, takt_id id, bool is_last)
{
    const bool nhwc =
        takt_node_attr(n, "layout") != NULL && takt_node_int(n, "layout") == TAKT_NHWC;
    const ref x = {n->in[0], channel_axis(g, n->in[0], nhwc)};
    takt_groups_same(g, x, (ref){id, channel_axis(g, id, nhwc)});
    for (uint32_t k = 1; k < n->in_count; k++)
        if (n->in[k] != TAKT_NONE && type_at(g, n->in[k])->rank == 1)
            takt_groups_same(g, x, (ref){n->in[k], 0});
    for (int d = 0; is_last && d < type_at(g, x.node)->rank; d++)
        if (d != x.axis) {
            takt_groups_block(g, (ref){x.node, d});
            takt_groups_block(g, (ref){id, d});
        }
}

/* A reduced axis is kept: its size is part of the result. */
static void reduce(takt_groups *g, const takt_node *n, takt_id id, bool is_last)
{
    const takt_attr *axes = takt_node_attr(n, "axes");
    const bool keeps = takt_node_attr(n, "keep") != NULL && takt_node_attr(n, "keep")->boolean;
    const int rank = type_at(g, n->in[0])->rank;
    int to = 0;
    for (int d = 0; d < rank; d++) {
        bool is_gone = axes == NULL || axes->count == 0;
        for (uint32_t k = 0; axes != NULL && k < axes->count; k++)
            is_gone = is_gone || (axes->i64s[k] + rank) % rank == d;
        if (!is_gone)
            takt_groups_same(g, (ref){n->in[0], d}, (ref){id, to});
        else if (is_last)
            takt_groups_block(g, (ref){n->in[0], d});
        to += !is_gone || keeps;
    }
}

static void along_axis(takt_groups *g, const takt_node *n, takt_id id, bool is_last)
{
    const int rank = n->type->rank;
    aligned(g, n->in[0], id);
    if (is_last && rank > 0)
        takt_groups_block(g, (ref){id, (int)((takt_node_int(n, "axis") + rank) % rank)});
}

/* Rows of a table: its other axes are those of the result. */
static void gather(takt_groups *g, const takt_node *n, takt_id id, bool is_last)
{
    const int rank = type_at(g, n->in[0])->rank;
    const int axis = (int)((takt_node_int(n, "axis") + rank) % rank);
    const int more = type_at(g, n->in[1])->rank - 1;
    for (int d = 0; d < rank; d++)
        if (d != axis)
            takt_groups_same(g, (ref){n->in[0], d}, (ref){id, d < axis ? d : d + more});
    if (is_last)
        takt_groups_block(g, (ref){n->in[0], axis});
}

static void norm(takt_groups *g, const takt_node *n, takt_id id)
{
    for (uint32_t k = 0; k < n->in_count; k++)
        if (n->in[k] != TAKT_NONE)
            aligned(g, n->in[k], id);
}

/* ---- all ---- */

typedef void plain_fn(takt_groups *g, const takt_node *n, takt_id id);
typedef void last_fn(takt_groups *g, const takt_node *n, takt_id id, bool is_last);

static const struct {
    const takt_op *op;
    plain_fn *plain;
    last_fn *last;
} rules[] = {
    {&takt_op_conv, NULL, conv},
    {&takt_op_conv_dx, NULL, conv_dx},
    {&takt_op_matmul, NULL, matmul},
    {&takt_op_attention, NULL, attention},
    {&takt_op_transpose, transpose, NULL},
    {&takt_op_concat, concat, NULL},
    {&takt_op_stack, NULL, stack},
    {&takt_op_slice, NULL, takt_groups_slice},
    {&takt_op_pad, NULL, whole_axes},
    {&takt_op_broadcast, norm, NULL},
    {&takt_op_reshape, NULL, reshape},
    {&takt_op_flatten, NULL, reshape},
    {&takt_op_squeeze, NULL, reshape},
    {&takt_op_unsqueeze, NULL, reshape},
    {&takt_op_batch_norm, NULL, per_channel},
    {&takt_op_instance_norm, NULL, per_channel},
    {&takt_op_max_pool, NULL, per_channel},
    {&takt_op_avg_pool, NULL, per_channel},
    {&takt_op_global_avg_pool, NULL, per_channel},
    {&takt_op_global_max_pool, NULL, per_channel},
    {&takt_op_layer_norm, norm, NULL},
    {&takt_op_rms_norm, norm, NULL},
    {&takt_op_softmax, NULL, along_axis},
    {&takt_op_log_softmax, NULL, along_axis},
    {&takt_op_scan, NULL, takt_groups_scan},
    {&takt_op_get, NULL, takt_groups_get},
    {&takt_op_gather, NULL, gather},
    {&takt_op_reduce_mean, NULL, reduce},
    {&takt_op_reduce_sum, NULL, reduce},
    {&takt_op_reduce_max, NULL, reduce},
    {&takt_op_reduce_min, NULL, reduce},
};

void takt_groups_relate(takt_groups *g, takt_id id, bool is_last)
{
    const takt_node *n = &g->nodes[id];
    if ((n->op->traits & TAKT_LEAF) != 0)
        return;
    if ((n->op->traits & (TAKT_ELEMENTWISE | TAKT_PREDICATE)) != 0 && n->out_count == 1) {
        norm(g, n, id);
        return;
    }
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (rules[i].op != n->op)
            continue;
        if (rules[i].plain != NULL)
            rules[i].plain(g, n, id);
        else
            rules[i].last(g, n, id, is_last);
        return;
    }
    if (is_last) /* an unknown op: its inputs and readers are kept */
        takt_groups_block_node(g, n, id);
}
