/* reduce.c - reductions, running sums, argmax and argmin. */
#include "op/util/reduce.h"
#include "io/onnx/write/emit.h"
#include "op/record/reduce_log_sum.h"
#include "op/record/reduce_log_sum_exp.h"
#include "op/util/arg.h"

static const struct {
    const takt_op *op;
    const char *name;
} reductions[] = {
    {&takt_op_reduce_sum, "ReduceSum"},
    {&takt_op_reduce_mean, "ReduceMean"},
    {&takt_op_reduce_max, "ReduceMax"},
    {&takt_op_reduce_min, "ReduceMin"},
    {&takt_op_reduce_prod, "ReduceProd"},
    {&takt_op_reduce_l1, "ReduceL1"},
    {&takt_op_reduce_l2, "ReduceL2"},
    {&takt_op_reduce_log_sum, "ReduceLogSum"},
    {&takt_op_reduce_log_sum_exp, "ReduceLogSumExp"},
    {&takt_op_reduce_sum_square, "ReduceSumSquare"},
};

/* ONNX reduces 32 and 64 bits; the wider type gives the same bits. Not all runtimes support
 * extremes of u32. */
static takt_dtype via(takt_dtype dtype, bool is_extreme)
{
    if (is_extreme && takt_dtype_bits(dtype) < 32 && !takt_dtype_is_float(dtype))
        return TAKT_I32;
    switch (dtype) {
    case TAKT_I8:
    case TAKT_I16: return TAKT_I32;
    case TAKT_U8:
    case TAKT_U16:
    case TAKT_BOOL: return TAKT_U32;
    default: return dtype;
    }
}

static bool reduce(takt_emit *e, const takt_node *n)
{
    const takt_attr *axes = &n->attr[TAKT_REDUCE_AXES];
    const bool is_extreme = n->op == &takt_op_reduce_max || n->op == &takt_op_reduce_min;
    const takt_dtype dtype = takt_emit_type(e, 0)->dtype, wide = via(dtype, is_extreme);
    const char *in[2] = {takt_emit_in(e, 0), ""}, *name = NULL;
    for (size_t i = 0; i < sizeof reductions / sizeof *reductions; i++)
        if (reductions[i].op == n->op)
            name = reductions[i].name;
    if (axes->count > 0)
        in[1] = takt_emit_vector(e, axes->i64s, axes->count);
    if (wide != dtype)
        in[0] = takt_emit_cast(e, takt_emit_fresh(e), in[0], wide);
    takt_emit_i(e, "keepdims", n->attr[TAKT_REDUCE_KEEP].boolean);
    const char *y = takt_emit_call(e, name, wide == dtype ? e->out : takt_emit_fresh(e), 2, in);
    if (wide != dtype)
        takt_emit_cast(e, e->out, y, dtype);
    return true;
}

static bool extreme(takt_emit *e, const takt_node *n)
{
    const char *x = takt_emit_in(e, 0);
    if (takt_emit_type(e, 0)->dtype == TAKT_BOOL)
        x = takt_emit_cast(e, takt_emit_fresh(e), x, TAKT_U8);
    takt_emit_i(e, "axis", n->attr[TAKT_ARG_AXIS].i64);
    takt_emit_i(e, "keepdims", n->attr[TAKT_ARG_KEEP].boolean);
    takt_emit_i(e, "select_last_index", n->attr[TAKT_ARG_LAST].boolean);
    takt_emit_1(e, n->op == &takt_op_argmax ? "ArgMax" : "ArgMin", e->out, x);
    return true;
}

static bool running(takt_emit *e, const takt_node *n)
{
    enum { AXIS, EXCLUSIVE, REVERSE };
    const takt_dtype dtype = takt_emit_type(e, 0)->dtype, wide = via(dtype, false);
    const char *x = takt_emit_in(e, 0), *axis = takt_emit_number(e, n->attr[AXIS].i64);
    if (wide != dtype)
        x = takt_emit_cast(e, takt_emit_fresh(e), x, wide);
    takt_emit_i(e, "exclusive", n->attr[EXCLUSIVE].boolean);
    takt_emit_i(e, "reverse", n->attr[REVERSE].boolean);
    const char *y = takt_emit_2(e, "CumSum", wide == dtype ? e->out : takt_emit_fresh(e), x, axis);
    if (wide != dtype)
        takt_emit_cast(e, e->out, y, dtype);
    return true;
}

static bool emit(takt_emit *e, const takt_node *n)
{
    if (n->op == &takt_op_cumsum)
        return running(e, n);
    return n->op == &takt_op_argmax || n->op == &takt_op_argmin ? extreme(e, n) : reduce(e, n);
}

const takt_emitter takt_emit_op_reduce = {
    .ops = {&takt_op_reduce_sum, &takt_op_reduce_mean, &takt_op_reduce_max, &takt_op_reduce_min,
            &takt_op_reduce_prod, &takt_op_reduce_l1, &takt_op_reduce_l2, &takt_op_reduce_log_sum,
            &takt_op_reduce_log_sum_exp, &takt_op_reduce_sum_square, &takt_op_argmax,
            &takt_op_argmin, &takt_op_cumsum},
    .emit = emit,
};
