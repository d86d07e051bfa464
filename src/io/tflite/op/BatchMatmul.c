/* BatchMatmul.c - BATCH_MATMUL: floats, and bytes in fixed point. */
#include "io/tflite/quant.h"

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

/* Sums of integers in doubles: exact, with fast kernels. */
static takt_id integers(takt_tfl_call *c, takt_id a, takt_id b)
{
    const takt_tfl_tensor *ty = takt_tfl_tensor_out(c, 0);
    const takt_tfl_quant qa = takt_tfl_quant_of(c, takt_tfl_tensor_in(c, 0)),
                         qb = takt_tfl_quant_of(c, takt_tfl_tensor_in(c, 1)),
                         qy = takt_tfl_quant_of(c, ty);
    const takt_dtype dtype = takt_tfl_dtype_of(ty->type);
    if (!takt_tfl_good(c))
        return TAKT_NONE;
    const takt_id x = takt_tfl_cast(c, takt_tfl_centred(c, a, qa.zero), TAKT_F64),
                  y = takt_tfl_cast(c, takt_tfl_centred(c, b, qb.zero), TAKT_F64);
    const takt_id sum = takt_tfl_cast(c, takt_matmul(c->g, x, y, false, false),
                                      dtype == TAKT_I16 ? TAKT_I64 : TAKT_I32);
    const float both = qa.scale * qb.scale;
    const takt_id z = takt_tfl_rescale(c, sum, takt_tfl_fixed_of((double)both / (double)qy.scale));
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
