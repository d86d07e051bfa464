/* quantized.c - products of dequantised integers are computed on the integers.
 *
 * dequantize, convolution or product, bias, relu and quantize become one integer op step by step.
 * Its sum is exact where the float one rounds: docs/numerics.md, "Integer sums".
 */
#include <math.h>

#include "op/util/block.h"
#include "op/util/conv.h"
#include "op/util/integer.h"
#include "pass/match.h"
#include "pass/passes.h"

static bool is_byte(takt_dtype dtype)
{
    return dtype == TAKT_I8 || dtype == TAKT_U8;
}

/* Weights of 4 bits are expanded to bytes, once, by the plan. */
static bool is_half_byte(const takt_graph *g, takt_id id)
{
    const takt_dtype dtype = takt_type_of(g, id)->dtype;
    return (dtype == TAKT_I4 || dtype == TAKT_U4) && takt_match_is_fixed(g, id);
}

/* `id`, if it dequantises bytes to f32 by one scale, or one for each element of `axis`. */
static const takt_node *opened(const takt_graph *g, takt_id id, int axis)
{
    const takt_node *n = takt_match_op(g, id, &takt_op_dequantize);
    if (n == NULL || n->type->dtype != TAKT_F32 || takt_type_of(g, n->in[1])->dtype != TAKT_F32)
        return NULL;
    if (!is_byte(takt_type_of(g, n->in[0])->dtype) && (axis < 0 || !is_half_byte(g, n->in[0])))
        return NULL;
    const int64_t along = takt_node_attr(n, "axis")->i64;
    const int rank = takt_type_of(g, n->in[1])->rank;
    if (rank == 0 || (rank == 1 && axis >= 0 && (along + n->type->rank) % n->type->rank == axis))
        return n;
    return NULL;
}

static takt_id zero_of(const takt_node *n)
{
    return n->in_count > 2 ? n->in[2] : TAKT_NONE;
}

static takt_id as_bytes(takt_graph *g, takt_id id)
{
    const takt_dtype dtype = id != TAKT_NONE ? takt_type_of(g, id)->dtype : TAKT_I8;
    if (dtype == TAKT_I4 || dtype == TAKT_U4)
        return takt_cast(g, id, dtype == TAKT_I4 ? TAKT_I8 : TAKT_U8);
    return id;
}

/* The integer op on the sources of `a` and `b`; `attr` are its own attributes. */
static takt_id product(takt_graph *g, const takt_op *op, const takt_node *a, const takt_node *b,
                       takt_id b_bytes, const takt_attr *attr)
{
    takt_id in[TAKT_INTEGER_INPUTS] = {
        a->in[0], as_bytes(g, b_bytes), zero_of(a), as_bytes(g, zero_of(b)), TAKT_NONE, TAKT_NONE,
        TAKT_NONE};
    in[TAKT_INTEGER_SCALE] = takt_mul(g, a->in[1], b->in[1]);
    return takt_graph_append(g, op, TAKT_INTEGER_SCALE + 1, in, attr);
}

/* Sums of this many products of bytes fit into i32. */
static bool fits(const takt_type *w, int out)
{
    enum { MOST = 32768 };
    int64_t count = 1;
    for (int d = 0; d < w->rank; d++) {
        if (d == out)
            continue;
        if (!takt_dim_is_number(w->dim[d]) || w->dim[d] > MOST)
            return false;
        count *= w->dim[d];
        if (count > MOST)
            return false;
    }
    return true;
}

static takt_id conv(takt_rewrite *r, const takt_node *n)
{
    const takt_node *x = opened(r->out, n->in[0], -1), *w = opened(r->out, n->in[1], 0);
    if (x == NULL || w == NULL)
        return TAKT_NONE;
    if (!fits(w->type, 0))
        return takt_refuse(r, n, "its sums may not fit into 32 bits");
    const takt_node a = *x, b = *w; /* the graph grows */
    return product(r->out, &takt_op_integer_conv, &a, &b, b.in[0], n->attr);
}

static takt_id matmul(takt_rewrite *r, const takt_node *n)
{
    takt_graph *g = r->out;
    const bool flips = takt_node_attr(n, "transpose_b")->boolean;
    const takt_node *x = opened(g, n->in[0], -1), *w = opened(g, n->in[1], flips ? 0 : 1);
    if (x == NULL || w == NULL || x->type->rank < 2)
        return TAKT_NONE;
    if (w->type->rank != 2 || takt_node_attr(n, "transpose_a")->boolean)
        return takt_refuse(r, n, "its first factor is transposed, or the second is not a matrix");
    if (!fits(w->type, flips ? 0 : 1))
        return takt_refuse(r, n, "its sums may not fit into 32 bits");
    const takt_node a = *x, b = *w;
    const takt_id bytes = flips ? takt_transpose(g, b.in[0], (const int64_t[]){1, 0}, 2) : b.in[0];
    return product(g, &takt_op_integer_matmul, &a, &b, bytes, NULL);
}

/* ---- batches of matrices ---- */

enum { MATRICES = 64 }; /* more would make graphs too large */

/* Bytes less their zero point in i32, as MatMulInteger has them: cast(x) - cast(zero). The zero
 * point has one element, in any rank. */
static bool shifted(const takt_graph *g, takt_id id, takt_id *x, takt_id *zero)
{
    const takt_node *sub = takt_match_op(g, id, &takt_op_sub);
    const takt_node *wide = takt_match_op(g, sub != NULL ? sub->in[0] : id, &takt_op_cast);
    const takt_node *by = sub != NULL ? takt_match_op(g, sub->in[1], &takt_op_cast) : NULL;
    if (wide == NULL || !is_byte(takt_type_of(g, wide->in[0])->dtype) ||
        wide->type->rank != takt_type_of(g, id)->rank || /* the zero point adds axes */
        (sub != NULL && (by == NULL || !takt_match_is_scalar(g, by->in[0]) ||
                         takt_type_of(g, by->in[0])->dtype != takt_type_of(g, wide->in[0])->dtype)))
        return false;
    *x = wide->in[0];
    *zero = by != NULL ? by->in[0] : TAKT_NONE;
    return true;
}

/* How many matrices the first axes hold; 0: not known, or too many. */
static int64_t matrices(const takt_type *t)
{
    int64_t count = 1;
    for (int d = 0; d < t->rank; d++) {
        if (!takt_dim_is_number(t->dim[d]) || t->dim[d] < 1)
            return 0;
        if (d < t->rank - 2)
            count = t->dim[d] > MATRICES ? 0 : count * t->dim[d];
        if (count > MATRICES)
            return 0;
    }
    return count;
}

static takt_id scalar(takt_graph *g, takt_id x)
{
    return x != TAKT_NONE && takt_type_of(g, x)->rank > 0 ? takt_reshape(g, x, NULL, 0) : x;
}

/* Matrix `i` of `count`. */
static takt_id matrix(takt_graph *g, takt_id x, int64_t count, int64_t i)
{
    const takt_type *t = takt_type_of(g, x);
    const takt_dim rows = t->dim[t->rank - 2], columns = t->dim[t->rank - 1];
    const takt_id flat = takt_reshape(g, x, (const takt_dim[]){count * rows, columns}, 2);
    return takt_slice(g, flat, 0, i * rows, (i + 1) * rows, 1);
}

/* Kernels for bytes take one matrix at a time; in i32 the products are several times slower. */
static takt_id each(takt_rewrite *r, const takt_node *n)
{
    takt_graph *g = r->out;
    takt_id a, b, zeros[2], parts[MATRICES];
    if (n->type->dtype != TAKT_I32 || n->type->rank < 3 || !shifted(g, n->in[0], &a, &zeros[0]) ||
        !shifted(g, n->in[1], &b, &zeros[1]))
        return TAKT_NONE;
    const takt_type *left = takt_type_of(g, a), *right = takt_type_of(g, b), all = *n->type;
    const int64_t count = matrices(left);
    bool is_alike = left->rank == right->rank && !takt_node_attr(n, "transpose_a")->boolean &&
                    !takt_node_attr(n, "transpose_b")->boolean;
    for (int d = 0; is_alike && d < left->rank - 2; d++)
        is_alike = left->dim[d] == right->dim[d];
    if (!is_alike || count < 1 || matrices(right) != count)
        return takt_refuse(r, n, "its matrices are transposed, too many, or not in pairs");
    if (right->dim[right->rank - 2] > 32768)
        return takt_refuse(r, n, "its sums may not fit into 32 bits");
    zeros[0] = scalar(g, zeros[0]);
    zeros[1] = scalar(g, zeros[1]);
    for (int64_t i = 0; i < count; i++) {
        const takt_id in[] = {matrix(g, a, count, i), matrix(g, b, count, i), zeros[0], zeros[1]};
        const size_t given = zeros[1] != TAKT_NONE ? 4 : zeros[0] != TAKT_NONE ? 3 : 2;
        parts[i] = takt_graph_call(g, &takt_op_integer_matmul, given, in, 0, NULL);
    }
    const takt_named_attr attrs[] = {{"axis", takt_attr_i64(0)}};
    const takt_id rows = takt_graph_call(g, &takt_op_concat, (size_t)count, parts, 1, attrs);
    return takt_reshape(g, rows, all.dim, (size_t)all.rank);
}

/* The product of floats with weights dequantised in blocks of k: the weights may stay quantised.
 * The bits do not change. */
static takt_id by_blocks(takt_rewrite *r, const takt_node *n)
{
    takt_graph *g = r->out;
    const takt_node *w = takt_match_op(g, n->in[1], &takt_op_block_dequantize);
    if (w == NULL || n->type->dtype != TAKT_F32 || w->type->rank != 2)
        return TAKT_NONE;
    const bool flips = !takt_node_attr(n, "transpose_b")->boolean;
    const int64_t block = takt_node_attr(w, "block")->i64, axis = takt_node_attr(w, "axis")->i64;
    const takt_type q = *takt_type_of(g, w->in[0]);
    if ((axis + 2) % 2 != (flips ? 0 : 1) || takt_node_attr(n, "transpose_a")->boolean)
        return takt_refuse(r, n, "its first factor is transposed, or blocks do not go along k");
    if (block % 16 != 0 || block > TAKT_BLOCK_MOST || (TAKT_BLOCK_LEVELS & TAKT_IN(q.dtype)) == 0)
        return takt_refuse(r, n, "blocks must be multiples of 16, weights have 2, 4 or 8 bits");
    if (!takt_match_is_fixed(g, w->in[0]) || !takt_match_is_fixed(g, w->in[1]))
        return takt_refuse(r, n, "the weights are not constant");
    static const int64_t swap[] = {1, 0};
    const takt_id zero = zero_of(w);
    takt_id in[] = {n->in[0], w->in[0], w->in[1], zero};
    for (size_t k = 1; flips && k < 4; k++)
        in[k] = in[k] == TAKT_NONE ? TAKT_NONE : takt_transpose(g, in[k], swap, 2);
    const takt_named_attr attrs[] = {{"block", takt_attr_i64(block)}};
    return takt_graph_call(g, &takt_op_block_matmul, zero == TAKT_NONE ? 3 : 4, in, 1, attrs);
}

/* An integer op that gives floats. */
static const takt_node *scaled(const takt_graph *g, takt_id id)
{
    const takt_node *n = id != TAKT_NONE ? &g->nodes[id] : NULL;
    const bool fits =
        n != NULL && (n->op == &takt_op_integer_conv || n->op == &takt_op_integer_matmul);
    return fits && n->type->dtype == TAKT_F32 ? n : NULL;
}

/* The addend's axis with more than one element, in the result's count of axes; -1: none, -2: many.
 */
static int only_axis(const takt_type *addend, int rank)
{
    int axis = -1;
    for (int d = 0; d < addend->rank; d++) {
        if (addend->dim[d] == 1)
            continue;
        if (axis != -1)
            return -2;
        axis = rank - addend->rank + d;
    }
    return axis;
}

/* The addend in units of the sum. */
static takt_id bias_of(takt_graph *g, takt_id addend, takt_dim count, takt_id scale)
{
    const takt_named_attr attrs[] = {{"axis", takt_attr_i64(0)},
                                     {"dtype", takt_attr_dtype(TAKT_I32)}};
    const takt_id flat = takt_match_is_scalar(g, addend)
                             ? takt_broadcast(g, takt_reshape(g, addend, NULL, 0), &count, 1)
                             : takt_reshape(g, addend, &count, 1);
    return takt_graph_call(g, &takt_op_quantize, 2, (const takt_id[]){flat, scale}, 2, attrs);
}

/* Dequantised from i32: on the grid of the sum, or on one close to it. */
static bool is_whole(const takt_graph *g, takt_id addend)
{
    const takt_node *moved = takt_match_op(g, addend, &takt_op_reshape);
    const takt_node *n =
        takt_match_op(g, moved != NULL ? moved->in[0] : addend, &takt_op_dequantize);
    return n != NULL && takt_type_of(g, n->in[0])->dtype == TAKT_I32 &&
           takt_match_is_fixed(g, addend);
}

static takt_id bias(takt_rewrite *r, const takt_node *n)
{
    takt_graph *g = r->out;
    const uint32_t which = scaled(g, n->in[0]) != NULL ? 0 : 1;
    const takt_node *sum = scaled(g, n->in[which]);
    const takt_id addend = n->in[1 - which];
    if (sum == NULL || sum->in_count > TAKT_INTEGER_SCALE + 1 ||
        sum->in[TAKT_INTEGER_BIAS] != TAKT_NONE || !is_whole(g, addend) ||
        !takt_match_type(g, n->in[which], n->type))
        return TAKT_NONE;
    if (!takt_match_single(r, which))
        return takt_refuse(r, n, "the sum before it is used elsewhere too");
    const int rank = n->type->rank;
    const bool is_conv = sum->op == &takt_op_integer_conv;
    const bool is_first = is_conv && sum->attr[TAKT_CONV_LAYOUT].i64 != TAKT_NHWC;
    const int channel = is_first ? 1 : rank - 1;
    const int axis = only_axis(takt_type_of(g, addend), rank);
    if (axis != -1 && axis != channel)
        return takt_refuse(r, n, "the addend is not one per channel");
    const takt_node old = *sum;
    takt_id in[TAKT_INTEGER_INPUTS];
    for (uint32_t k = 0; k <= TAKT_INTEGER_SCALE; k++)
        in[k] = old.in[k];
    in[TAKT_INTEGER_BIAS] = bias_of(g, addend, n->type->dim[channel], old.in[TAKT_INTEGER_SCALE]);
    return takt_graph_append(g, old.op, TAKT_INTEGER_SCALE + 1, in, old.attr);
}

/* Quantisation is monotone: `id` is known and greater than zero. */
static bool is_positive(const takt_graph *g, takt_id id)
{
    const takt_node *n = takt_match_op(g, id, &takt_op_constant);
    return n != NULL && n->type->rank == 0 && n->type->dtype == TAKT_F32 &&
           takt_dtype_get_f(TAKT_F32, takt_tensor_data(n->attr[0].tensor), 0) > 0;
}

/* Nothing below zero survives the quantisation by a positive scale, so a relu before it does
 * nothing. */
static bool cuts_at_zero(const takt_graph *g, const takt_node *n)
{
    const takt_id zero = zero_of(n);
    if (zero == TAKT_NONE)
        return n->type->dtype == TAKT_U8;
    return takt_match_value(g, zero, n->type->dtype == TAKT_U8 ? 0 : -128);
}

/* A relu becomes a lower bound: the zero point, which is what 0 is quantised to. */
static takt_id quantize(takt_rewrite *r, const takt_node *n)
{
    takt_graph *g = r->out;
    const takt_node *relu = takt_match_op(g, n->in[0], &takt_op_relu);
    const takt_node *sum = scaled(g, relu != NULL ? relu->in[0] : n->in[0]);
    if (sum == NULL || !is_byte(n->type->dtype) || sum->in_count > TAKT_INTEGER_SCALE + 1)
        return TAKT_NONE;
    if (!takt_match_single(r, 0))
        return takt_refuse(r, n, "what it quantises is used elsewhere too");
    if (takt_type_of(g, n->in[1])->rank != 0)
        return takt_refuse(r, n, "it has several scales");
    if (relu != NULL && !is_positive(g, n->in[1]))
        return takt_refuse(r, n, "a relu before it counts, and its scale may be negative");
    const takt_node old = *sum;
    takt_id in[TAKT_INTEGER_INPUTS];
    for (uint32_t k = 0; k < TAKT_INTEGER_SCALE; k++)
        in[k] = old.in[k];
    in[TAKT_INTEGER_SCALE] = takt_div(g, old.in[TAKT_INTEGER_SCALE], n->in[1]);
    in[TAKT_INTEGER_ZERO] =
        zero_of(n) != TAKT_NONE ? n->in[2] : takt_cast(g, takt_scalar_i64(g, 0), n->type->dtype);
    const takt_id sum_of_bytes = takt_graph_append(g, old.op, TAKT_INTEGER_INPUTS, in, old.attr);
    const takt_id bound[] = {sum_of_bytes, in[TAKT_INTEGER_ZERO]};
    const bool has_bound = relu != NULL && !cuts_at_zero(g, n);
    return has_bound ? takt_graph_append(g, &takt_op_max, 2, bound, NULL) : sum_of_bytes;
}

/* The bounds that a node clamps x to. */
static bool cuts(const takt_graph *g, const takt_node *n, takt_id *x, double *lo, double *hi)
{
    *lo = -INFINITY;
    *hi = INFINITY;
    *x = n->in_count > 0 ? n->in[0] : TAKT_NONE;
    if (n->op == &takt_op_relu6) {
        *lo = 0;
        *hi = 6;
        return true;
    }
    if (n->op == &takt_op_clip) {
        const takt_attr *min = takt_node_attr(n, "min"), *max = takt_node_attr(n, "max");
        *lo = min->is_set ? min->f64 : *lo;
        *hi = max->is_set ? max->f64 : *hi;
        return true;
    }
    if (n->op != &takt_op_min && n->op != &takt_op_max)
        return false;
    const takt_node *bound = takt_match_op(g, n->in[1], &takt_op_constant);
    if (bound == NULL || bound->type->rank != 0 || bound->type->dtype != TAKT_F32)
        return false;
    *(n->op == &takt_op_min ? hi : lo) =
        takt_dtype_get_f(TAKT_F32, takt_tensor_data(bound->attr[0].tensor), 0);
    return true;
}

/* Quantisation is monotone and saturates: a bound that rounds to the end of the grid, or beyond,
 * clamps nothing that the grid does not. */
static takt_id inside(takt_rewrite *r, const takt_node *n)
{
    takt_graph *g = r->out;
    takt_id x;
    double lo, hi;
    if (!cuts(g, &g->nodes[n->in[0]], &x, &lo, &hi) || !is_byte(n->type->dtype))
        return TAKT_NONE;
    const takt_node *zero = takt_match_op(g, zero_of(n), &takt_op_constant);
    if (!is_positive(g, n->in[1]) || (zero_of(n) != TAKT_NONE && zero == NULL))
        return takt_refuse(r, n, "its scale or zero is not known, or there are several");
    const takt_node *scale = takt_match_op(g, n->in[1], &takt_op_constant);
    const double by = takt_dtype_get_f(TAKT_F32, takt_tensor_data(scale->attr[0].tensor), 0);
    const double at =
        zero == NULL
            ? 0
            : (double)takt_dtype_get_i(n->type->dtype, takt_tensor_data(zero->attr[0].tensor), 0);
    const double least = n->type->dtype == TAKT_U8 ? 0 : -128;
    if (lo / by + at > least + 0.25 || hi / by + at < least + 254.75)
        return takt_refuse(r, n, "the grid reaches beyond the bounds");
    takt_id in[3] = {x, n->in[1], zero_of(n)};
    return takt_graph_append(g, n->op, n->in_count, in, n->attr);
}

static const takt_rule rules[] = {
    {&takt_op_conv, "conv(dequantize(x), dequantize(w)) = integer_conv(x, w)", conv},
    {&takt_op_matmul, "matmul(dequantize(x), dequantize(w)) = integer_matmul(x, w)", matmul},
    {&takt_op_matmul, "matmul of batches of shifted bytes = integer_matmul of each", each},
    {&takt_op_matmul, "matmul(x, block_dequantize(w)) = block_matmul(x, w)", by_blocks},
    {&takt_op_add, "integer sum + bias = integer sum with its bias", bias},
    {&takt_op_quantize, "quantize(clip(x)) = quantize(x) if its grid ends inside", inside},
    {&takt_op_quantize, "quantize(integer sum) = integer sum, requantised", quantize},
};

const takt_pass takt_pass_quantized = {
    .name = "quantized",
    .summary = "compute products of dequantised integers on the integers",
    .licence = "Integer sums",
    TAKT_RULES(rules),
};
