/* block_dequantize.c - (q - zero) * scale with a scale for each block along an axis. */
#include "op/util/affine.h"
#include "op/util/check.h"
#include "op/util/make.h"

enum { AXIS, BLOCK };

/* Like q, but with one element for each block. */
static takt_status check_parameter(takt_infer *in, size_t which, int axis)
{
    takt_type want = *in->type[0];
    TAKT_TRY(takt_dim_make(in->dims, TAKT_DIM_CEILDIV, want.dim[axis], in->attr[BLOCK].i64,
                           &want.dim[axis]));
    return takt_check_shape(in, which, &want, "one for each block");
}

static takt_status infer(takt_infer *in)
{
    int axis = 0;
    TAKT_TRY(takt_infer_dtype(in, 0, TAKT_QUANTISED, "an integer"));
    TAKT_TRY(takt_infer_dtype(in, 1, TAKT_FLOATS, "a float"));
    TAKT_TRY(takt_infer_rank(in, 0, 1, TAKT_MAX_RANK - 1));
    TAKT_TRY(takt_check_axis(in, in->attr[AXIS].i64, in->type[0]->rank, &axis));
    TAKT_TRY(takt_check_range(in, BLOCK, 1, TAKT_CHECK_BIG));
    TAKT_TRY(check_parameter(in, 1, axis));
    if (takt_infer_has(in, 2)) {
        TAKT_TRY(takt_check_same_dtype(in, 0, 2));
        TAKT_TRY(check_parameter(in, 2, axis));
    }
    in->out[0] = *in->type[0];
    in->out[0].dtype = in->type[1]->dtype;
    return TAKT_OK;
}

/* Repeats each element `block` times along the axis, up to the size of q. */
static takt_id spread(takt_graph *g, takt_id x, const takt_type *q, int axis, int64_t block)
{
    const takt_type t = *takt_type_of(g, x);
    takt_dim thin[TAKT_MAX_RANK], wide[TAKT_MAX_RANK], flat[TAKT_MAX_RANK];
    for (int i = 0, to = 0; i < t.rank; i++) {
        thin[to] = wide[to] = flat[i] = t.dim[i];
        to++;
        if (i != axis)
            continue;
        thin[to] = 1;
        wide[to++] = block;
        flat[i] = takt_make_dim(g, TAKT_DIM_MUL, t.dim[i], block);
    }
    x = takt_reshape(g, x, thin, (size_t)t.rank + 1);
    x = takt_broadcast(g, x, wide, (size_t)t.rank + 1);
    x = takt_reshape(g, x, flat, (size_t)t.rank);
    return takt_slice(g, x, axis, 0, q->dim[axis], 1);
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    const takt_type q = *takt_type_of(g, n->in[0]);
    const takt_dtype dtype = takt_type_of(g, n->in[1])->dtype;
    const int64_t given = n->attr[AXIS].i64, block = n->attr[BLOCK].i64;
    const int axis = (int)(given < 0 ? given + q.rank : given);
    takt_id level = takt_cast(g, n->in[0], TAKT_I64);
    if (n->in_count > 2 && n->in[2] != TAKT_NONE)
        level = takt_sub(g, level, spread(g, takt_cast(g, n->in[2], TAKT_I64), &q, axis, block));
    out[0] = takt_mul(g, takt_cast(g, level, dtype), spread(g, n->in[1], &q, axis, block));
}

static void cost(const takt_graph *g, const takt_node *n, takt_cost *cost)
{
    cost->flops = 2 * takt_make_count(&n->type[0]);
    cost->bytes = takt_make_bytes(g, n);
}

const takt_op takt_op_block_dequantize = {
    .name = "block_dequantize",
    .summary = "(q - zero) * scale, with a scale and a zero for each block along an axis",
    .in_min = 2,
    .in_max = 3,
    .in_names = {"q", "scale", "zero"},
    .attrs = {[AXIS] = {.name = "axis",
                        .type = TAKT_ATTR_I64,
                        .fallback.i64 = 1,
                        .summary = "the axis that is cut into blocks"},
              [BLOCK] = {.name = "block",
                         .type = TAKT_ATTR_I64,
                         .fallback.i64 = 32,
                         .summary = "elements of one block; the last may have fewer"}},
    .dtypes = TAKT_FLOATS | TAKT_QUANTISED,
    .is_mixed = true,
    .infer = infer,
    .lower = lower,
    .cost = cost,
    .samples = {"block_dequantize(i4[3, 5] in (-8, 7), f32[3, 3] in (0.01, 0.1), i4[3, 3] in (-8, "
                "7), block=2)",
                "block_dequantize(u8[6, 2] in (0, 255), f16[2, 2] in (0.01, 0.1), axis=0, block=4)",
                "block_dequantize(i8[2, 2, 33] in (-99, 99), f32[2, 2, 2] in (0.01, 0.1), i8[2, 2, "
                "2] in (-9, 9), axis=-1)"},
};
