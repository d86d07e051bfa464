/* BatchMatmul.c - BATCH_MATMUL: floats, and bytes in fixed point, a pair of matrices at a time. */
#include "io/tflite/quant.h"
#include "op/util/integer.h"

static takt_id transposed(takt_tfl_call *c, takt_id x, bool is_transposed)
{
    int64_t perm[TAKT_MAX_RANK];
    const int rank = takt_type_of(c->g, x)->rank;
    if (!is_transposed || x == TAKT_NONE)
        return x;
    for (int d = 0; d < rank; d++)
        perm[d] = d == rank - 2 ? rank - 1 : d == rank - 1 ? rank - 2 : d;
    return takt_transpose(c->g, x, perm, (size_t)rank);
}

/* ---- pairs of matrices of bytes ---- */

enum { MATRICES = 64, MOST = 32768 }; /* more make graphs too large; sums beyond i32 */

/* How many matrices both operands hold; 0: not in pairs, or too many. */
static int64_t pairs(const takt_type *a, const takt_type *b)
{
    int64_t count = 1;
    if (a->rank != b->rank || !takt_tfl_is_byte(a->dtype) || a->dtype != b->dtype)
        return 0;
    for (int d = 0; d < a->rank; d++)
        if (!takt_dim_is_number(a->dim[d]) || !takt_dim_is_number(b->dim[d]) || a->dim[d] < 1 ||
            b->dim[d] < 1)
            return 0;
    if (a->dim[a->rank - 1] > MOST)
        return 0;
    for (int d = 0; d < a->rank - 2; d++) {
        if (a->dim[d] != b->dim[d] || a->dim[d] > MATRICES)
            return 0;
        count *= a->dim[d];
        if (count > MATRICES)
            return 0;
    }
    return count;
}

/* Matrix `i` of `count`. */
static takt_id matrix(takt_graph *g, takt_id x, int64_t count, int64_t i)
{
    const takt_type *t = takt_type_of(g, x);
    const takt_dim rows = t->dim[t->rank - 2], columns = t->dim[t->rank - 1];
    const takt_id flat = takt_reshape(g, x, (const takt_dim[]){count * rows, columns}, 2);
    return takt_slice(g, flat, 0, i * rows, (i + 1) * rows, 1);
}

typedef struct grids {
    takt_tfl_quant a, b, y;
    takt_dtype dtype;
    takt_tfl_fixed scale;
} grids;

static takt_id by_pairs(takt_tfl_call *c, takt_id a, takt_id b, const grids *q, int64_t count)
{
    takt_graph *g = c->g;
    takt_id parts[MATRICES], in[TAKT_INTEGER_ALL] = {[TAKT_INTEGER_BIAS] = TAKT_NONE};
    takt_type all = *takt_type_of(g, a);
    const takt_dtype bytes = all.dtype;
    all.dim[all.rank - 1] = takt_type_of(g, b)->dim[all.rank - 1];
    in[TAKT_INTEGER_A_ZERO] = takt_tfl_number(c, bytes, q->a.zero);
    in[TAKT_INTEGER_B_ZERO] = takt_tfl_number(c, bytes, q->b.zero);
    in[TAKT_INTEGER_SCALE] = takt_tfl_number(c, TAKT_I32, q->scale.multiplier);
    in[TAKT_INTEGER_ZERO] = takt_tfl_number(c, q->dtype, q->y.zero);
    in[TAKT_INTEGER_SHIFT] = takt_tfl_number(c, TAKT_I32, q->scale.shift);
    for (int64_t i = 0; i < count && takt_tfl_good(c); i++) {
        in[TAKT_INTEGER_A] = matrix(g, a, count, i);
        in[TAKT_INTEGER_B] = matrix(g, b, count, i);
        parts[i] = takt_graph_call(g, &takt_op_integer_matmul, TAKT_INTEGER_ALL, in, 0, NULL);
    }
    if (!takt_tfl_good(c))
        return TAKT_NONE;
    const takt_named_attr attrs[] = {{"axis", takt_attr_i64(0)}};
    const takt_id rows =
        count == 1 ? parts[0] : takt_graph_call(g, &takt_op_concat, (size_t)count, parts, 1, attrs);
    return takt_reshape(g, rows, all.dim, (size_t)all.rank);
}

/* ---- */

/* By pairs, or sums of integers in doubles: exact, with fast kernels. */
static takt_id integers(takt_tfl_call *c, takt_id a, takt_id b)
{
    const takt_tfl_tensor *ty = takt_tfl_tensor_out(c, 0);
    const takt_tfl_quant qa = takt_tfl_quant_of(c, takt_tfl_tensor_in(c, 0)),
                         qb = takt_tfl_quant_of(c, takt_tfl_tensor_in(c, 1)),
                         qy = takt_tfl_quant_of(c, ty);
    const takt_dtype dtype = takt_tfl_dtype_of(ty->type);
    if (!takt_tfl_good(c))
        return TAKT_NONE;
    const float both = qa.scale * qb.scale;
    const grids q = {qa, qb, qy, dtype, takt_tfl_fixed_of((double)both / (double)qy.scale)};
    const int64_t count =
        takt_tfl_is_byte(dtype) ? pairs(takt_type_of(c->g, a), takt_type_of(c->g, b)) : 0;
    if (count > 0)
        return by_pairs(c, a, b, &q, count);
    const takt_id x = takt_tfl_cast(c, takt_tfl_centred(c, a, qa.zero), TAKT_F64),
                  y = takt_tfl_cast(c, takt_tfl_centred(c, b, qb.zero), TAKT_F64);
    const takt_id sum = takt_tfl_cast(c, takt_matmul(c->g, x, y, false, false),
                                      dtype == TAKT_I16 ? TAKT_I64 : TAKT_I32);
    const takt_id z = takt_tfl_rescale(c, sum, q.scale);
    return takt_tfl_saturate(c, z, qy.zero, takt_tfl_range_of(dtype), dtype);
}

static takt_status adapt(takt_tfl_call *c)
{
    const takt_id a = takt_tfl_need(c, 0), b = takt_tfl_need(c, 1);
    if (!takt_tfl_good(c))
        return c->status;
    const takt_type ta = *takt_type_of(c->g, a), tb = *takt_type_of(c->g, b);
    if (ta.rank < 2 || tb.rank < 2)
        return takt_tfl_refuse(c, "inputs that are not matrices");
    const takt_id x = transposed(c, a, takt_tfl_u8(c, 0, 0) != 0),
                  y = transposed(c, b, takt_tfl_u8(c, 1, 0) != 0);
    if (takt_dtype_is_float(ta.dtype) != takt_dtype_is_float(tb.dtype))
        return takt_tfl_refuse(c, "floats by bytes");
    return takt_tfl_done(c, takt_dtype_is_float(ta.dtype) ? takt_matmul(c->g, x, y, false, false)
                                                          : integers(c, x, y));
}

const takt_tflite_op takt_tflite_BatchMatmul = {
    .names = {"BATCH_MATMUL"}, .options = 101, .adapt = adapt};
