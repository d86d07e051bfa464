/* fold_moves.c - transposes, reshapes, slices and the like that cancel or do nothing.
 *
 * Transposes are pushed down through element-wise operations, until they meet others. Nothing is
 * computed differently, so no bit changes.
 */
#include "op/util/conv.h"
#include "op/util/integer.h"
#include "op/util/make.h"
#include "pass/match.h"
#include "pass/passes.h"

static takt_id same_as_input(takt_rewrite *r, const takt_node *n)
{
    return takt_match_type(r->out, n->in[0], n->type) ? n->in[0] : TAKT_NONE;
}

/* A slice of everything may still reverse. */
static takt_id whole_slice(takt_rewrite *r, const takt_node *n)
{
    const takt_attr *step = takt_node_attr(n, "step");
    for (uint32_t i = 0; i < step->count; i++)
        if (step->i64s[i] < 0)
            return TAKT_NONE;
    return same_as_input(r, n);
}

/* The type alone does not decide: padding added before may be cut off after. */
static takt_id pad_nothing(takt_rewrite *r, const takt_node *n)
{
    const takt_attr *before = takt_node_attr(n, "before"), *after = takt_node_attr(n, "after");
    for (uint32_t i = 0; i < before->count; i++)
        if (before->i64s[i] != 0 || after->dims[i] != 0)
            return TAKT_NONE;
    return same_as_input(r, n);
}

/* Whether both have the same number of elements for all sizes. */
static bool same_count(takt_graph *g, const takt_type *a, const takt_type *b)
{
    const takt_dim x = takt_make_product(g, a->dim, a->rank);
    return takt_dim_same(g->dims, x, takt_make_product(g, b->dim, b->rank));
}

/* The condition on sizes for two reshapes does not follow from one of them. */
static takt_id reshape_twice(takt_rewrite *r, const takt_node *n)
{
    const takt_node *inner = takt_match_op(r->out, n->in[0], &takt_op_reshape);
    if (inner == NULL)
        return TAKT_NONE;
    const takt_id x = inner->in[0];
    const takt_type *between = inner->type;
    if (!same_count(r->out, between, n->type) &&
        !same_count(r->out, takt_type_of(r->out, x), between))
        return TAKT_NONE;
    return takt_reshape(r->out, x, n->type->dim, (size_t)n->type->rank);
}

/* An empty permutation reverses, and axes may count from the end; the rules below handle
 * neither. */
static takt_id spell_out(takt_rewrite *r, const takt_node *n)
{
    const takt_attr *perm = takt_node_attr(n, "perm");
    const int rank = n->type->rank;
    int64_t axes[TAKT_MAX_RANK];
    bool changed = perm->count == 0 && rank > 0;
    for (int i = 0; i < rank; i++) {
        const int64_t given = perm->count == 0 ? rank - 1 - i : perm->i64s[i];
        axes[i] = given < 0 ? given + rank : given;
        changed = changed || given < 0;
    }
    return changed ? takt_transpose(r->out, n->in[0], axes, (size_t)rank) : TAKT_NONE;
}

static bool is_identity(const takt_attr *perm)
{
    for (uint32_t i = 0; i < perm->count; i++)
        if (perm->i64s[i] != (int64_t)i)
            return false;
    return true;
}

static takt_id transpose_nothing(takt_rewrite *r, const takt_node *n)
{
    (void)r;
    return is_identity(takt_node_attr(n, "perm")) ? n->in[0] : TAKT_NONE;
}

static takt_id transpose_twice(takt_rewrite *r, const takt_node *n)
{
    const takt_node *inner = takt_match_op(r->out, n->in[0], &takt_op_transpose);
    if (inner == NULL)
        return TAKT_NONE;
    const takt_attr *second = takt_node_attr(n, "perm"), *first = takt_node_attr(inner, "perm");
    int64_t perm[TAKT_MAX_RANK];
    for (uint32_t i = 0; i < second->count; i++)
        perm[i] = first->i64s[second->i64s[i]];
    return takt_transpose(r->out, inner->in[0], perm, second->count);
}

/* Axes of size 1 may be anywhere: if the others keep their order, nothing moves in memory. */
static takt_id transpose_ones(takt_rewrite *r, const takt_node *n)
{
    const takt_type *type = takt_type_of(r->out, n->in[0]);
    const takt_attr *perm = takt_node_attr(n, "perm");
    int64_t last = -1;
    for (uint32_t i = 0; i < perm->count; i++) {
        if (type->dim[perm->i64s[i]] == 1)
            continue;
        if (perm->i64s[i] < last)
            return TAKT_NONE;
        last = perm->i64s[i];
    }
    return takt_reshape(r->out, n->in[0], n->type->dim, (size_t)n->type->rank);
}

/* The axes of a type that have more than one element; their number. */
static size_t long_axes(const takt_type *type, int64_t axes[TAKT_MAX_RANK])
{
    size_t count = 0;
    for (int i = 0; i < type->rank; i++)
        if (type->dim[i] != 1)
            axes[count++] = i;
    return count;
}

/* With a reshape between them that only adds or removes axes of size 1. */
static takt_id transpose_over_ones(takt_rewrite *r, const takt_node *n)
{
    const takt_node *between = takt_match_op(r->out, n->in[0], &takt_op_reshape);
    const takt_node *inner =
        between != NULL ? takt_match_op(r->out, between->in[0], &takt_op_transpose) : NULL;
    int64_t before[TAKT_MAX_RANK], after[TAKT_MAX_RANK], perm[TAKT_MAX_RANK];
    if (inner == NULL)
        return TAKT_NONE;
    const size_t count = long_axes(inner->type, before);
    if (long_axes(between->type, after) != count)
        return TAKT_NONE;
    for (size_t i = 0; i < count; i++)
        if (!takt_dim_same(r->out->dims, inner->type->dim[before[i]], between->type->dim[after[i]]))
            return TAKT_NONE;
    const takt_type *x = takt_type_of(r->out, inner->in[0]);
    const takt_attr *first = takt_node_attr(inner, "perm"), *second = takt_node_attr(n, "perm");
    size_t at = 0;
    for (int i = 0; i < x->rank; i++)
        if (x->dim[i] == 1)
            perm[at++] = i;
    for (uint32_t i = 0; i < second->count; i++)
        for (size_t k = 0; k < count; k++)
            if (after[k] == second->i64s[i])
                perm[at++] = first->i64s[before[k]];
    const takt_id moved = takt_transpose(r->out, inner->in[0], perm, at);
    return takt_reshape(r->out, moved, n->type->dim, (size_t)n->type->rank);
}

static takt_id concat_one(takt_rewrite *r, const takt_node *n)
{
    (void)r;
    return n->in_count == 1 ? n->in[0] : TAKT_NONE;
}

static bool same_perm(const takt_attr *a, const takt_attr *b)
{
    if (a->count != b->count)
        return false;
    for (uint32_t i = 0; i < a->count; i++)
        if (a->i64s[i] != b->i64s[i])
            return false;
    return true;
}

/* The permutation that all inputs but scalars come through; NULL if there is none. */
static const takt_attr *common_perm(takt_rewrite *r, const takt_node *n)
{
    const takt_attr *perm = NULL;
    for (uint32_t k = 0; k < n->in_count; k++) {
        if (n->in[k] == TAKT_NONE)
            return NULL;
        if (takt_match_is_scalar(r->out, n->in[k]) && takt_match_is_constant(r->out, n->in[k]))
            continue;
        const takt_node *t = takt_match_op(r->out, n->in[k], &takt_op_transpose);
        if (t == NULL || t->type->rank != n->type->rank)
            return NULL;
        const takt_attr *own = takt_node_attr(t, "perm");
        if (perm != NULL && !same_perm(perm, own))
            return NULL;
        perm = own;
    }
    return perm;
}

static takt_id sink_transpose(takt_rewrite *r, const takt_node *n)
{
    enum { MOST = 8 };
    if ((n->op->traits & TAKT_ELEMENTWISE) == 0 || n->in_count > MOST)
        return TAKT_NONE;
    const takt_attr *perm = common_perm(r, n);
    if (perm == NULL)
        return TAKT_NONE;
    takt_id in[MOST];
    for (uint32_t k = 0; k < n->in_count; k++) {
        const takt_node *t = takt_match_op(r->out, n->in[k], &takt_op_transpose);
        if (t != NULL && !takt_match_single(r, k))
            return takt_refuse(r, n, "the transpose before it is used elsewhere too");
        in[k] = t != NULL ? t->in[0] : n->in[k];
    }
    const int64_t *order = perm->i64s;
    const takt_id y = takt_graph_append(r->out, n->op, n->in_count, in, n->attr);
    return takt_transpose(r->out, y, order, perm->count);
}

static bool swaps_last_two(const takt_attr *perm)
{
    const uint32_t n = perm->count;
    for (uint32_t i = 0; i + 2 < n; i++)
        if (perm->i64s[i] != (int64_t)i)
            return false;
    return n >= 2 && perm->i64s[n - 2] == (int64_t)n - 1 && perm->i64s[n - 1] == (int64_t)n - 2;
}

/* Concatenates pieces of one size and splits them with the last two axes swapped: elements of the
 * pieces alternate. */
static takt_id interleave(takt_rewrite *r, const takt_node *n)
{
    enum { MOST = 16 };
    takt_graph *g = r->out;
    const takt_node *apart = takt_match_op(g, n->in[0], &takt_op_reshape);
    const takt_node *found = apart != NULL ? takt_match_op(g, apart->in[0], &takt_op_concat) : NULL;
    const int rank = n->type->rank;
    if (found == NULL || rank < 2 || found->in_count > MOST || found->type->rank != rank - 1 ||
        !swaps_last_two(takt_node_attr(n, "perm")) ||
        (takt_node_attr(found, "axis")->i64 + rank - 1) % (rank - 1) != rank - 2)
        return TAKT_NONE;
    const takt_node whole = *found;
    takt_dim dims[TAKT_MAX_RANK];
    for (int d = 0; d < rank; d++)
        dims[d] = d == rank - 1 ? 1 : n->type->dim[d];
    for (int d = 0; d < rank - 2; d++)
        if (dims[d] != whole.type->dim[d])
            return TAKT_NONE;
    takt_id in[MOST];
    for (uint32_t k = 0; k < whole.in_count; k++)
        if (takt_type_of(g, whole.in[k])->dim[rank - 2] != dims[rank - 2])
            return TAKT_NONE;
    for (uint32_t k = 0; k < whole.in_count; k++)
        in[k] = takt_reshape(g, whole.in[k], dims, (size_t)rank);
    const takt_named_attr attrs[] = {{"axis", takt_attr_i64(rank - 1)}};
    return takt_graph_call(g, &takt_op_concat, whole.in_count, in, 1, attrs);
}

static takt_id matmul_transposed(takt_rewrite *r, const takt_node *n)
{
    takt_id in[2] = {n->in[0], n->in[1]};
    bool flags[2] = {takt_node_attr(n, "transpose_a")->boolean,
                     takt_node_attr(n, "transpose_b")->boolean};
    bool changed = false;
    for (int k = 0; k < 2; k++) {
        const takt_node *t = takt_match_op(r->out, in[k], &takt_op_transpose);
        if (t == NULL || !swaps_last_two(takt_node_attr(t, "perm")))
            continue;
        in[k] = t->in[0];
        flags[k] = !flags[k];
        changed = true;
    }
    return changed ? takt_matmul(r->out, in[0], in[1], flags[0], flags[1]) : TAKT_NONE;
}

/* The same indices along the whole axis: rows are gathered, not single elements. */
static takt_id same_indices(takt_rewrite *r, const takt_node *n)
{
    const takt_node *b = takt_match_op(r->out, n->in[1], &takt_op_broadcast);
    if (b == NULL)
        return TAKT_NONE;
    const takt_id index = b->in[0];
    const takt_type x = *takt_type_of(r->out, n->in[0]), i = *takt_type_of(r->out, index);
    int64_t axis = takt_node_int(n, "axis");
    axis += axis < 0 ? x.rank : 0;
    const int missing = x.rank - i.rank; /* axes that the broadcast puts in front */
    for (int d = 0; d < x.rank; d++) {
        const bool is_one = d < missing || i.dim[d - missing] == 1;
        if (d == axis ? is_one != (n->type->dim[d] == 1) : !is_one)
            return TAKT_NONE;
        if (d != axis && (n->type->dim[d] != x.dim[d] || x.dim[d] == 0))
            return TAKT_NONE;
    }
    const takt_id flat = takt_reshape(r->out, index, &n->type->dim[axis], 1);
    const takt_named_attr along = {"axis", takt_attr_i64(axis)};
    return takt_graph_call(r->out, &takt_op_gather, 2, (takt_id[]){n->in[0], flat}, 1, &along);
}

/* Known before the run, or state: such a factor stays second, which is packed in advance. */
static bool is_weight(const takt_graph *g, takt_id id)
{
    return takt_match_is_fixed(g, id) || g->nodes[id].op == &takt_op_state;
}

/* Every element is the sum of the same products in the same order. Gradients of tied embeddings
 * have this form. */
static takt_id transposed_product(takt_rewrite *r, const takt_node *n)
{
    const takt_node *mm = takt_match_op(r->out, n->in[0], &takt_op_matmul);
    const takt_attr *perm = takt_node_attr(n, "perm");
    if (mm == NULL || r->uses[r->in->nodes[r->id].in[0]] != 1 || n->type->rank != 2 ||
        perm->count != 2 || perm->i64s[0] != 1 || !takt_dtype_is_float(n->type->dtype) ||
        takt_type_of(r->out, mm->in[0])->rank != 2 || takt_type_of(r->out, mm->in[1])->rank != 2 ||
        is_weight(r->out, mm->in[1]))
        return TAKT_NONE;
    const bool a = takt_node_attr(mm, "transpose_a")->boolean,
               b = takt_node_attr(mm, "transpose_b")->boolean;
    return takt_matmul(r->out, mm->in[1], mm->in[0], !b, !a);
}

/* The padding that a pad of `n`'s first input adds to the spatial axes, in addition to that of `n`;
 * false: it does more, or its value is not the zero point that `n` pads with. */
static bool pads_alike(const takt_graph *g, const takt_node *n, const takt_node *pad, int64_t *to)
{
    const takt_attr *before = takt_node_attr(pad, "before"), *after = takt_node_attr(pad, "after");
    const takt_attr *own = &n->attr[TAKT_CONV_PAD];
    const int rank = pad->type->rank, spatial = rank - 2;
    const int first = n->attr[TAKT_CONV_LAYOUT].i64 == TAKT_NHWC ? 1 : 2;
    const takt_id zero = n->in_count > TAKT_INTEGER_A_ZERO ? n->in[TAKT_INTEGER_A_ZERO] : TAKT_NONE;
    const double value = takt_node_attr(pad, "value")->f64;
    if (takt_node_attr(pad, "mode")->i64 != 0 ||
        (zero == TAKT_NONE ? value != 0 : !takt_match_value(g, zero, value)))
        return false;
    for (int d = 0; d < rank; d++) {
        const bool is_space = d >= first && d < first + spatial;
        const int64_t more[] = {before->i64s[d], after->dims[d]};
        if (!takt_dim_is_number(after->dims[d]) || more[0] < 0 || more[1] < 0 ||
            (!is_space && (more[0] != 0 || more[1] != 0)))
            return false;
        for (int side = 0; is_space && side < 2; side++) {
            const int at = side * spatial + d - first;
            to[at] = more[side] + (own->count > 0 ? own->i64s[at] : 0);
        }
    }
    return true;
}

static takt_id padded_conv(takt_rewrite *r, const takt_node *n)
{
    const takt_node *pad = takt_match_op(r->out, n->in[0], &takt_op_pad);
    int64_t all[2 * TAKT_MAX_RANK];
    takt_id in[TAKT_INTEGER_ALL];
    takt_attr attr[TAKT_CONV_SHAPE];
    if (pad == NULL || !pads_alike(r->out, n, pad, all))
        return TAKT_NONE;
    for (uint32_t k = 0; k < n->in_count; k++)
        in[k] = k == 0 ? pad->in[0] : n->in[k];
    for (int k = 0; k < TAKT_CONV_SHAPE; k++)
        attr[k] = n->attr[k];
    attr[TAKT_CONV_PAD] = takt_attr_i64s(all, 2 * (size_t)(pad->type->rank - 2));
    return takt_graph_append(r->out, n->op, n->in_count, in, attr);
}

/* Zeros that were multiplied are left out, which is the same unless a weight is infinite or NaN: so
 * they must be constants. A kernel of one position reads no patches, whose zeros end sums of -0. */
static takt_id padded_floats(takt_rewrite *r, const takt_node *n)
{
    const takt_node *w = takt_match_op(r->out, n->in[1], &takt_op_constant);
    const int last = n->attr[TAKT_CONV_LAYOUT].i64 == TAKT_NHWC ? n->type->rank - 1 : 1;
    size_t count, i = 0;
    if (w == NULL || w->type->dtype != TAKT_F32 || w->attr[0].tensor->storage == NULL ||
        !takt_type_count(w->type, &count) || takt_match_op(r->out, n->in[0], &takt_op_pad) == NULL)
        return TAKT_NONE;
    const bool is_one = count == (size_t)(w->type->dim[0] * w->type->dim[last]);
    for (const float *v = takt_tensor_data(w->attr[0].tensor); i < count && v[i] - v[i] == 0;)
        i++;
    return is_one || i < count ? TAKT_NONE : padded_conv(r, n);
}

static const takt_rule rules[] = {
    {&takt_op_reshape, "reshape to its own shape = x", same_as_input},
    {&takt_op_reshape, "reshape(reshape(x)) = reshape(x)", reshape_twice},
    {&takt_op_transpose, "transpose() = transpose by axes spelled out", spell_out},
    {&takt_op_transpose, "transpose by the identity = x", transpose_nothing},
    {&takt_op_transpose, "transpose(transpose(x)) = transpose(x)", transpose_twice},
    {&takt_op_transpose, "transpose of axes of size 1 = reshape", transpose_ones},
    {&takt_op_transpose, "transpose(reshape of ones(transpose(x))) = reshape of ones(transpose(x))",
     transpose_over_ones},
    {&takt_op_transpose, "transpose(reshape(concat(x, y))) = x and y interleaved", interleave},
    {&takt_op_transpose, "transpose(matmul(a, b)) = matmul(transpose(b), transpose(a))",
     transposed_product},
    {&takt_op_broadcast, "broadcast to its own shape = x", same_as_input},
    {&takt_op_slice, "slice of everything = x", whole_slice},
    {&takt_op_pad, "pad by nothing = x", pad_nothing},
    {&takt_op_integer_conv, "integer_conv(pad(x)) = integer_conv(x) with more padding",
     padded_conv},
    {&takt_op_conv, "conv(pad(x)) = conv(x) with more padding, if weights are finite",
     padded_floats},
    {&takt_op_concat, "concat of one = x", concat_one},
    {&takt_op_gather_elements, "gather_elements(x, broadcast(i)) = gather(x, i)", same_indices},
    {&takt_op_matmul, "matmul(a, transpose(b)) = matmul(a, b, transpose_b)", matmul_transposed},
    {NULL, "f(transpose(x)) = transpose(f(x))", sink_transpose},
};

const takt_pass takt_pass_fold_moves = {
    .name = "fold-moves",
    .summary = "remove transposes, reshapes and copies that cancel",
    TAKT_RULES(rules),
};
