/* Reduce.c - the Reduce… family: axes are an attribute or, in newer opsets, an input. */
#include "io/onnx/lengths.h"
#include "op/record/reduce_log_sum.h"
#include "op/record/reduce_log_sum_exp.h"

static const struct {
    const char *name;
    const takt_op *op;
} list[] = {
    {"ReduceSum", &takt_op_reduce_sum},
    {"ReduceMean", &takt_op_reduce_mean},
    {"ReduceMax", &takt_op_reduce_max},
    {"ReduceMin", &takt_op_reduce_min},
    {"ReduceProd", &takt_op_reduce_prod},
    {"ReduceL1", &takt_op_reduce_l1},
    {"ReduceL2", &takt_op_reduce_l2},
    {"ReduceLogSum", &takt_op_reduce_log_sum},
    {"ReduceLogSumExp", &takt_op_reduce_log_sum_exp},
    {"ReduceSumSquare", &takt_op_reduce_sum_square},
};

/* Means, roots and logarithms of integers are computed in f64 and truncated. */
static bool needs_floats(const takt_op *op, takt_dtype dtype)
{
    return takt_dtype_is_int(dtype) &&
           (op == &takt_op_reduce_mean || op == &takt_op_reduce_l2 ||
            op == &takt_op_reduce_log_sum || op == &takt_op_reduce_log_sum_exp);
}

static const takt_op *op_of(takt_span name)
{
    size_t i = 0; /* it is one of them: those are the adapter's names */
    while (!takt_span_is(name, list[i].name))
        i++;
    return list[i].op;
}

/* ---- axes found at run time ---- */

/* Of x with sizes `own`, axes reordered: the source of each element of the result. `order` has the
 * axes, `all` is the number of elements. */
static takt_id places(takt_call *c, const takt_id *own, int rank, takt_id order, takt_dim all)
{
    takt_graph *g = c->g;
    takt_id step[TAKT_MAX_RANK], left = takt_onnx_counted(c, all), sum = TAKT_NONE;
    step[rank - 1] = takt_scalar_i64(g, 1);
    for (int i = rank - 1; i > 0; i--)
        step[i - 1] = takt_mul(g, step[i], own[i]);
    const takt_id sizes = takt_onnx_gather(c, takt_onnx_pack(c, own, (size_t)rank), order, 0);
    const takt_id steps = takt_onnx_gather(c, takt_onnx_pack(c, step, (size_t)rank), order, 0);
    for (int i = rank - 1; i >= 0; i--) {
        const takt_id size =
            takt_onnx_with(c, &takt_op_max, takt_onnx_item(c, sizes, (size_t)i), 1);
        const takt_id at = i > 0 ? takt_binary(g, &takt_op_mod, left, size) : left;
        const takt_id part = takt_mul(g, at, takt_onnx_item(c, steps, (size_t)i));
        left = i > 0 ? takt_div(g, left, size) : left;
        sum = sum == TAKT_NONE ? part : takt_add(g, sum, part);
    }
    return sum;
}

/* Axes known only at run time: their indices, all axes with the kept ones first, and their
 * number. */
typedef struct found {
    takt_id is_axis, order;
    size_t count;
} found;

/* The sizes of the result: names, numbers where they are known. */
static void result_dims(takt_call *c, const takt_type *t, const takt_id *own, const found *f,
                        bool keep, takt_dim *dims)
{
    takt_graph *g = c->g;
    const size_t rank = keep ? (size_t)t->rank : (size_t)t->rank - f->count;
    const takt_id sizes = takt_onnx_pack(c, own, (size_t)t->rank);
    takt_onnx_bound bounds[TAKT_MAX_RANK];
    takt_dim most = 1;
    for (int i = 0; i < t->rank && c->status == TAKT_OK; i++)
        c->status = takt_dim_make(g->dims, TAKT_DIM_MAX, most, t->dim[i], &most);
    for (size_t i = 0; i < rank; i++)
        bounds[i] = keep ? takt_onnx_at_most(t->dim[i]) : (takt_onnx_bound){most, t->dim[i]};
    for (size_t i = 0; keep && i < rank && c->status == TAKT_OK; i++)
        c->status = takt_dim_make(g->dims, TAKT_DIM_MAX, t->dim[i], 1, &bounds[i].most);
    takt_id n = takt_slice(g, takt_onnx_gather(c, sizes, f->order, 0), 0, 0, (int64_t)rank, 1);
    if (keep)
        n = takt_select(g, takt_onnx_with(c, &takt_op_gt, f->is_axis, 0), takt_scalar_i64(g, 1),
                        sizes);
    takt_onnx_lengths(c, n, bounds, rank, dims);
}

/* The kept axes come first, so that the others are merged into the last one. */
static takt_id by_values(takt_call *c, const takt_op *op, takt_id x, takt_id axes, size_t count)
{
    takt_graph *g = c->g;
    const takt_type t = *takt_type_of(g, x);
    const bool keep = takt_onnx_i(c, "keepdims", 1) != 0;
    const size_t rank = keep ? (size_t)t.rank : (size_t)t.rank - count;
    takt_id own[TAKT_MAX_RANK];
    takt_dim dims[TAKT_MAX_RANK], all, kept = 1, rows[2];
    const takt_id flat = takt_onnx_flat(c, x, &all);
    takt_onnx_sizes(c, x, own);
    const takt_id is_axis = takt_onnx_is_axis(c, axes, count, t.rank);
    const takt_id sorted = takt_onnx_op1(c, &takt_op_sort, is_axis, 0, NULL);
    const takt_id order = sorted == TAKT_NONE ? sorted : takt_graph_get(g, sorted, 1);
    if (rank > 0)
        result_dims(c, &t, own, &(found){is_axis, order, count}, keep, dims);
    for (size_t i = 0; i < rank && c->status == TAKT_OK; i++)
        c->status = takt_dim_make(g->dims, TAKT_DIM_MUL, kept, dims[i], &kept);
    rows[0] = kept;
    if (c->status == TAKT_OK)
        c->status = takt_dim_make(g->dims, TAKT_DIM_MAX, kept, 1, &kept);
    if (c->status == TAKT_OK)
        c->status = takt_dim_make(g->dims, TAKT_DIM_FLOORDIV, all, kept, &rows[1]);
    if (c->status != TAKT_OK)
        return TAKT_NONE;
    x = takt_onnx_gather(c, flat, places(c, own, t.rank, order, all), 0);
    x = takt_reshape(g, x, rows, 2);
    x = takt_reduce_over(g, op, x, (int64_t[]){1}, 1, false);
    return takt_reshape(g, x, dims, rank);
}

/* ---- the adapter ---- */

static takt_id by_numbers(takt_call *c, const takt_op *op, takt_id x)
{
    const takt_ints axes = takt_onnx_list(c, "axes", 1);
    const bool keep = takt_onnx_i(c, "keepdims", 1) != 0;
    const bool does_nothing = takt_onnx_i(c, "noop_with_empty_axes", 0) != 0;
    if (c->status != TAKT_OK)
        return TAKT_NONE;
    if (axes.count > 0 || !does_nothing)
        return takt_reduce_over(c->g, op, x, axes.at, axes.count, keep);
    /* Sums nothing, but still squares each element, or takes its logarithm. */
    const int64_t last = takt_type_of(c->g, x)->rank;
    return takt_reduce_over(c->g, op, takt_onnx_unsqueeze(c, x, last), &last, 1, false);
}

static takt_status adapt(takt_call *c)
{
    const takt_op *op = op_of(c->node->op);
    const takt_type t = *takt_onnx_type(c, 0);
    size_t count = 0;
    const bool has_list = takt_onnx_ints(c, "axes").is_set;
    const bool is_known = has_list || !takt_onnx_has(c, 1) || takt_onnx_peek(c, 1) != NULL;
    const takt_id axes = is_known ? TAKT_NONE : takt_onnx_vector(c, 1, &count);
    takt_id x = takt_onnx_in(c, 0);
    if (c->status != TAKT_OK)
        return c->status;
    const bool is_cut = needs_floats(op, t.dtype);
    x = is_cut ? takt_onnx_cast(c, x, TAKT_F64) : x;
    if (axes != TAKT_NONE && count > 0 && count <= (size_t)t.rank)
        x = by_values(c, op, x, axes, count);
    else if (axes != TAKT_NONE && count == 0 && takt_onnx_i(c, "noop_with_empty_axes", 0) == 0)
        x = takt_reduce_over(c->g, op, x, NULL, 0, takt_onnx_i(c, "keepdims", 1) != 0);
    else
        x = by_numbers(c, op, x);
    return takt_onnx_done(c, is_cut ? takt_onnx_cast(c, x, t.dtype) : x);
}

const takt_onnx_op takt_onnx_Reduce = {
    .names = {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1",
              "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"},
    .adapt = adapt};
