/* reduce_op.c - which kernels of reductions a node needs. */
#include "backend/cpu/reduce_op.h"

#include "op/ops.h"

typedef struct name_op {
    const takt_op *node;
    takt_reduce_op op;
} name_op;

takt_reduce_op takt_reduce_op_of(const takt_node *n)
{
    const name_op table[] = {{&takt_op_reduce_sum, TAKT_REDUCE_SUM},
                             {&takt_op_reduce_sum_square, TAKT_REDUCE_SUMSQ},
                             {&takt_op_reduce_max, TAKT_REDUCE_MAX},
                             {&takt_op_reduce_min, TAKT_REDUCE_MIN},
                             {&takt_op_reduce_prod, TAKT_REDUCE_PROD}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].node == n->op)
            return table[i].op;
    const bool is_last = takt_node_int(n, "last") != 0;
    if (n->op == &takt_op_argmax)
        return is_last ? TAKT_REDUCE_ARGMAX_LAST : TAKT_REDUCE_ARGMAX;
    if (n->op == &takt_op_argmin)
        return is_last ? TAKT_REDUCE_ARGMIN_LAST : TAKT_REDUCE_ARGMIN;
    return TAKT_REDUCE_OP_COUNT;
}

takt_dtype takt_reduce_compute(takt_dtype dtype)
{
    switch (dtype) {
    case TAKT_F64:
    case TAKT_F32:
    case TAKT_I64:
    case TAKT_I32:
    case TAKT_U64:
    case TAKT_U32: return dtype;
    case TAKT_F16:
    case TAKT_BF16: return TAKT_F32;
    case TAKT_I16:
    case TAKT_I8: return TAKT_I32;
    default: return TAKT_U32;
    }
}

const char *takt_reduce_family(takt_dtype compute)
{
    switch (compute) {
    case TAKT_F64: return "reduce_f64";
    case TAKT_F32: return "reduce_f32";
    case TAKT_I64: return "reduce_i64";
    case TAKT_I32: return "reduce_i32";
    case TAKT_U64: return "reduce_u64";
    default: return "reduce_u32";
    }
}
