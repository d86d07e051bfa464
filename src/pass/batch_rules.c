/* batch_rules.c - nodes that can compute all samples at once, and how. */
#include <string.h>

#include "op/ops.h"
#include "op/record/ggml_quantize.h"
#include "pass/batch.h"

typedef takt_id rule_fn(const takt_batch_node *x);

static const takt_type *type_in(const takt_batch_node *x, size_t i)
{
    return takt_type_of(x->b->in, x->n->in[i]);
}

/* Only input `first` has samples. */
static bool only_has_samples(const takt_batch_node *x, size_t first)
{
    for (uint32_t i = 0; i < x->n->in_count; i++)
        if (x->many[i] != (i == first))
            return false;
    return true;
}

static takt_id append(const takt_batch_node *x, const takt_id *in, const takt_attr *attrs)
{
    return takt_graph_append(x->b->out, x->n->op, x->n->in_count, in, attrs);
}

/* Input `i` as [dim, 1, ..., shape], with `rank` dimensions after the first; without samples the
 * first is 1 if `is_forced`, otherwise unchanged. */
static takt_id raise(const takt_batch_node *x, size_t i, int rank, bool is_forced)
{
    const takt_type *t = type_in(x, i);
    takt_dim dims[TAKT_MAX_RANK + 1];
    if ((!x->many[i] && !is_forced) || (x->many[i] && t->rank == rank))
        return x->in[i];
    dims[0] = x->many[i] ? x->b->dim : 1;
    for (int d = 0; d < rank; d++)
        dims[d + 1] = d < rank - t->rank ? 1 : t->dim[d - (rank - t->rank)];
    return takt_reshape(x->b->out, x->in[i], dims, (size_t)rank + 1);
}

/* Input `i` repeated for every sample, if it is not per sample. */
static takt_id spread(const takt_batch_node *x, size_t i)
{
    const takt_type type = takt_batch_type(x->b, type_in(x, i));
    if (x->many[i])
        return x->in[i];
    return takt_broadcast(x->b->out, x->in[i], type.dim, (size_t)type.rank);
}

/* ---- element-wise ---- */

static takt_id elementwise(const takt_batch_node *x)
{
    takt_id in[TAKT_MAX_RANK];
    if (x->n->in_count > TAKT_MAX_RANK || x->n->out_count != 1)
        return TAKT_NONE;
    for (uint32_t i = 0; i < x->n->in_count; i++)
        in[i] = x->in[i] == TAKT_NONE ? TAKT_NONE : raise(x, i, x->n->type[0].rank, false);
    return append(x, in, x->n->attr);
}

/* ---- along axes ---- */

static int64_t shifted(int64_t axis)
{
    return axis < 0 ? axis : axis + 1;
}

/* Attributes `axis` and `axes` of an op on one tensor, counted past the new dimension. Other inputs
 * (a norm's parameters) have no samples. */
static takt_id along(const takt_batch_node *x)
{
    takt_attr attrs[TAKT_MAX_ATTRS];
    int64_t axes[TAKT_MAX_RANK];
    const int rank = type_in(x, 0)->rank;
    const size_t count = takt_op_attr_count(x->n->op);
    if (!only_has_samples(x, 0))
        return TAKT_NONE;
    takt_node_attrs(x->n, attrs);
    for (size_t i = 0; i < count; i++) {
        const char *name = x->n->op->attrs[i].name;
        if (strcmp(name, "axis") == 0)
            attrs[i].i64 = shifted(attrs[i].i64);
        if (strcmp(name, "axes") != 0)
            continue;
        const bool is_all = attrs[i].count == 0;
        attrs[i].count = is_all ? (uint32_t)rank : attrs[i].count;
        for (uint32_t k = 0; k < attrs[i].count; k++)
            axes[k] = is_all ? (int64_t)k + 1 : shifted(attrs[i].i64s[k]);
        attrs[i].i64s = axes;
        if (attrs[i].count == 0)
            return TAKT_NONE; /* a scalar: nothing to reduce */
    }
    for (size_t i = 0; i < count; i++)
        attrs[i].is_set = true;
    return append(x, x->in, attrs);
}

static takt_id slice(const takt_batch_node *x)
{
    takt_attr attrs[TAKT_MAX_ATTRS];
    int64_t axes[TAKT_MAX_RANK];
    const int which = takt_op_attr_index(x->n->op, "axes");
    takt_node_attrs(x->n, attrs);
    const takt_attr *start = takt_node_attr(x->n, "start");
    const bool is_plain = attrs[which].count == 0;
    attrs[which].count = start->count;
    attrs[which].is_set = true;
    for (uint32_t k = 0; k < start->count; k++)
        axes[k] = is_plain ? (int64_t)k + 1 : shifted(attrs[which].i64s[k]);
    attrs[which].i64s = axes;
    return append(x, x->in, attrs);
}

static takt_id concat(const takt_batch_node *x)
{
    takt_attr attrs[TAKT_MAX_ATTRS];
    takt_id *in = takt_arena_array(&x->b->arena, x->n->in_count, sizeof *in);
    if (in == NULL)
        return takt_graph_fail(x->b->out, TAKT_ERR_MEMORY);
    for (uint32_t i = 0; i < x->n->in_count; i++)
        in[i] = spread(x, i);
    takt_node_attrs(x->n, attrs);
    attrs[0].i64 = shifted(attrs[0].i64);
    attrs[0].is_set = true;
    return append(x, in, attrs);
}

/* A list of indices for every sample, into its own table. */
static takt_id gather_each(const takt_batch_node *x, int64_t axis)
{
    takt_graph *g = x->b->out;
    const takt_type type = takt_batch_type(x->b, &x->n->type[0]);
    takt_dim ones[TAKT_MAX_RANK];
    if (type_in(x, 1)->rank != 1 || !x->many[0] || !x->many[1])
        return TAKT_NONE;
    const int64_t at = (axis < 0 ? axis + type_in(x, 0)->rank : axis) + 1;
    for (int i = 0; i < type.rank; i++)
        ones[i] = i == 0 || i == at ? type.dim[i] : 1;
    const size_t rank = (size_t)type.rank;
    const takt_id index = takt_broadcast(g, takt_reshape(g, x->in[1], ones, rank), type.dim, rank);
    const takt_named_attr attr = {"axis", takt_attr_i64(at)};
    return takt_graph_call(g, &takt_op_gather_elements, 2, (takt_id[]){x->in[0], index}, 1, &attr);
}

/* One table for all samples' indices, or the same indices into every sample's table. */
static takt_id gather(const takt_batch_node *x)
{
    takt_attr attrs[TAKT_MAX_ATTRS];
    takt_node_attrs(x->n, attrs);
    const int64_t axis = attrs[0].i64;
    attrs[0].is_set = true;
    if (only_has_samples(x, 1) && (axis == 0 || axis == -type_in(x, 0)->rank))
        return append(x, x->in, attrs);
    attrs[0].i64 = shifted(axis);
    return only_has_samples(x, 0) ? append(x, x->in, attrs) : gather_each(x, axis);
}

/* The same indices for all samples, or further batch dimensions if samples have their own. */
static takt_id gather_sum(const takt_batch_node *x)
{
    takt_attr attrs[TAKT_MAX_ATTRS];
    takt_id in[4];
    takt_node_attrs(x->n, attrs);
    const int axis = takt_op_attr_index(x->n->op, "axis"),
              batch = takt_op_attr_index(x->n->op, "batch_dims");
    const bool is_shared = attrs[batch].i64 == 0 && only_has_samples(x, 0);
    attrs[axis] = takt_attr_i64(shifted(attrs[axis].i64));
    attrs[batch] = takt_attr_i64(attrs[batch].i64 + !is_shared);
    for (uint32_t i = 0; i < x->n->in_count; i++)
        in[i] = x->in[i] == TAKT_NONE || is_shared ? x->in[i] : spread(x, i);
    return append(x, in, attrs);
}

/* Samples with their own starts. If a sample's first dimension is 1, the samples' dimension
 * replaces it: plans recognise caches by this form. */
static takt_id update_slice(const takt_batch_node *x)
{
    takt_graph *g = x->b->out;
    const takt_type *t = type_in(x, 0);
    const takt_type type = takt_batch_type(x->b, t);
    const int64_t given = x->n->attr[0].i64, axis = given < 0 ? given + t->rank : given;
    const bool is_merged = t->dim[0] == 1 && type_in(x, 1)->dim[0] == 1 && axis > 0;
    if (type_in(x, 2)->rank != 0)
        return TAKT_NONE;
    takt_id in[3] = {spread(x, 0), spread(x, 1), x->in[2]};
    for (size_t i = 0; is_merged && i < 2; i++) {
        takt_type flat = *type_in(x, i);
        flat.dim[0] = x->b->dim;
        in[i] = takt_reshape(g, in[i], flat.dim, (size_t)flat.rank);
    }
    const takt_named_attr attr = {"axis", takt_attr_i64(is_merged ? axis : axis + 1)};
    const takt_id made = takt_graph_call(g, &takt_op_update_slice, 3, in, 1, &attr);
    return is_merged ? takt_reshape(g, made, type.dim, (size_t)type.rank) : made;
}

/* The angles broadcast against the samples. */
static takt_id rotary(const takt_batch_node *x)
{
    const int rank = type_in(x, 0)->rank;
    const takt_id in[3] = {spread(x, 0), raise(x, 1, rank, false), raise(x, 2, rank, false)};
    return append(x, in, x->n->attr);
}

/* Rows of samples are additional rows: products with weights, and rows of a table. */
static takt_id more_rows(const takt_batch_node *x)
{
    const size_t rows = x->n->op == &takt_op_ggml_rows ? 1 : 0;
    return only_has_samples(x, rows) ? append(x, x->in, x->n->attr) : TAKT_NONE;
}

/* The weights are the same for all samples; rows without samples are repeated. */
static takt_id experts(const takt_batch_node *x)
{
    const takt_id in[3] = {spread(x, 0), x->in[1], spread(x, 2)};
    return x->many[1] ? TAKT_NONE : append(x, in, x->n->attr);
}

/* The same for all samples. */
static takt_id dim(const takt_batch_node *x)
{
    const takt_named_attr attr = {"axis", takt_attr_i64(shifted(x->n->attr[0].i64))};
    const takt_id made = takt_graph_call(x->b->out, &takt_op_dim, 1, x->in, 1, &attr);
    return takt_broadcast(x->b->out, made, &x->b->dim, 1);
}

/* ---- shapes ---- */

static takt_id reshape(const takt_batch_node *x)
{
    const takt_type type = takt_batch_type(x->b, &x->n->type[0]);
    return takt_reshape(x->b->out, x->in[0], type.dim, (size_t)type.rank);
}

static takt_id broadcast(const takt_batch_node *x)
{
    const takt_type type = takt_batch_type(x->b, &x->n->type[0]);
    return takt_broadcast(x->b->out, raise(x, 0, x->n->type[0].rank, false), type.dim,
                          (size_t)type.rank);
}

static takt_id transpose(const takt_batch_node *x)
{
    int64_t perm[TAKT_MAX_RANK + 1] = {0};
    const int rank = type_in(x, 0)->rank;
    const takt_attr *from = &x->n->attr[0];
    for (int i = 0; i < rank; i++) {
        const int64_t axis = from->count == 0 ? rank - 1 - i : from->i64s[i];
        perm[i + 1] = (axis < 0 ? axis + rank : axis) + 1;
    }
    return takt_transpose(x->b->out, x->in[0], perm, (size_t)rank + 1);
}

static takt_id pad(const takt_batch_node *x)
{
    takt_attr attrs[TAKT_MAX_ATTRS];
    int64_t room[2][TAKT_MAX_RANK + 1] = {{0}};
    static const char *const names[] = {"before", "after"};
    if (!only_has_samples(x, 0))
        return TAKT_NONE;
    takt_node_attrs(x->n, attrs);
    for (int side = 0; side < 2; side++) {
        takt_attr *a = &attrs[takt_op_attr_index(x->n->op, names[side])];
        for (uint32_t i = 0; i < a->count && i < TAKT_MAX_RANK; i++)
            room[side][i + 1] = a->i64s[i];
        a->i64s = room[side];
        a->count++;
    }
    return append(x, x->in, attrs);
}

/* ---- sums of products ---- */

/* Vectors become matrices of one row or column; the result is then given its shape. */
static takt_id matmul(const takt_batch_node *x)
{
    const takt_type *t[2] = {type_in(x, 0), type_in(x, 1)};
    const takt_type type = takt_batch_type(x->b, &x->n->type[0]);
    takt_id in[2] = {x->in[0], x->in[1]};
    takt_attr attrs[TAKT_MAX_ATTRS];
    takt_node_attrs(x->n, attrs);
    if (only_has_samples(x, 0) && t[0]->rank >= 2 && t[1]->rank <= 2)
        return append(x, in, attrs); /* [dim, ..., m, k] by a matrix or a vector */
    const int rank = t[0]->rank > t[1]->rank ? t[0]->rank : t[1]->rank;
    const int full = rank < 2 ? 2 : rank;
    if (full + 1 > TAKT_MAX_RANK)
        return TAKT_NONE;
    for (int i = 0; i < 2; i++) {
        if (t[i]->rank == 1) { /* a row on the left, a column on the right, as it is read */
            const bool is_row = i == 0;
            takt_dim dims[TAKT_MAX_RANK + 1] = {x->many[i] ? x->b->dim : 1};
            for (int d = 1; d <= full; d++)
                dims[d] = 1;
            dims[is_row ? full : full - 1] = t[i]->dim[0];
            attrs[i].boolean = false;
            attrs[i].is_set = true;
            in[i] = takt_reshape(x->b->out, x->in[i], dims, (size_t)full + 1);
        } else {
            in[i] = raise(x, (size_t)i, full, full > 2 || x->many[1 - i]);
        }
    }
    const takt_id product = append(x, in, attrs);
    return takt_reshape(x->b->out, product, type.dim, (size_t)type.rank);
}

enum { MASK = 3 }; /* input of attention */

/* A mask of attention for queries of one sequence becomes one for several. */
static takt_id raise_mask(const takt_batch_node *x)
{
    const takt_type *t = type_in(x, MASK);
    if (!x->many[MASK] || t->rank < 4)
        return raise(x, MASK, 3, false);
    const takt_dim dims[4] = {x->b->dim, t->dim[1], t->dim[2], t->dim[3]};
    return takt_reshape(x->b->out, x->in[MASK], dims, 4);
}

/* The op already has samples along its first axis: the new ones are stacked along it. */
static takt_id merged(const takt_batch_node *x)
{
    takt_batcher *b = x->b;
    takt_id in[TAKT_MAX_RANK];
    const bool is_attention = x->n->op == &takt_op_attention;
    const bool has_mask = is_attention && x->n->in_count > MASK && x->in[MASK] != TAKT_NONE;
    if (x->n->in_count > TAKT_MAX_RANK || x->n->out_count != 1 ||
        (!is_attention && !only_has_samples(x, 0)) || (has_mask && type_in(x, 0)->dim[0] != 1))
        return TAKT_NONE;
    for (uint32_t i = 0; i < x->n->in_count; i++) {
        in[i] = x->in[i];
        if (in[i] == TAKT_NONE || (i > 0 && !is_attention))
            continue;
        if (is_attention && i == MASK) {
            in[i] = raise_mask(x);
            continue;
        }
        takt_type t = *type_in(x, i);
        if (takt_dim_make(b->out->dims, TAKT_DIM_MUL, b->dim, t.dim[0], &t.dim[0]) != TAKT_OK)
            return takt_graph_fail(b->out, b->in->ctx->error.status);
        in[i] = takt_reshape(b->out, spread(x, i), t.dim, (size_t)t.rank);
    }
    const takt_type type = takt_batch_type(b, &x->n->type[0]);
    return takt_reshape(b->out, append(x, in, x->n->attr), type.dim, (size_t)type.rank);
}

/* ---- the table of rules ---- */

static const struct {
    const takt_op *op;
    rule_fn *apply;
} rules[] = {
    {&takt_op_matmul, matmul},
    {&takt_op_conv, merged},
    {&takt_op_max_pool, merged},
    {&takt_op_avg_pool, merged},
    {&takt_op_global_avg_pool, merged},
    {&takt_op_global_max_pool, merged},
    {&takt_op_batch_norm, merged},
    {&takt_op_group_norm, merged},
    {&takt_op_instance_norm, merged},
    {&takt_op_attention, merged},
    {&takt_op_update_slice, update_slice},
    {&takt_op_rotary_embedding, rotary},
    {&takt_op_ggml_matmul, more_rows},
    {&takt_op_ggml_matmul_i8, more_rows},
    {&takt_op_ggml_experts_i8, experts},
    {&takt_op_ggml_rows, more_rows},
    {&takt_op_ggml_quantize, more_rows},
    {&takt_op_block_matmul, more_rows},
    {&takt_op_dim, dim},
    {&takt_op_reshape, reshape},
    {&takt_op_broadcast, broadcast},
    {&takt_op_transpose, transpose},
    {&takt_op_slice, slice},
    {&takt_op_pad, pad},
    {&takt_op_concat, concat},
    {&takt_op_gather, gather},
    {&takt_op_gather_sum, gather_sum},
    {&takt_op_softmax, along},
    {&takt_op_log_softmax, along},
    {&takt_op_layer_norm, along},
    {&takt_op_rms_norm, along},
    {&takt_op_cumsum, along},
    {&takt_op_top_k, along},
};

takt_id takt_batch_rule(const takt_batch_node *x)
{
    const takt_op *op = x->n->op;
    if ((op->traits & TAKT_ELEMENTWISE) != 0)
        return elementwise(x);
    if ((op->traits & TAKT_REDUCES) != 0 &&
        (takt_op_attr_index(op, "axes") >= 0 || takt_op_attr_index(op, "axis") >= 0))
        return along(x);
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].op == op)
            return rules[i].apply(x);
    return TAKT_NONE;
}
