/* random_normal.c - random numbers of a normal distribution, by position: seed, step, stream and
 * element decide. */
#include "op/util/check.h"
#include "op/util/random.h"

enum { STREAM, MEAN, DEVIATION, DTYPE, SHAPE };

static takt_status infer(takt_infer *in)
{
    TAKT_TRY(takt_random_infer(in, 0, STREAM));
    TAKT_TRY(takt_check_set_shape(in, SHAPE, &in->out[0]));
    in->out[0].dtype = in->attr[DTYPE].dtype;
    if ((TAKT_FLOATS & TAKT_IN(in->out[0].dtype)) == 0)
        return takt_fail(in->ctx, TAKT_E_DTYPE, "random_normal: dtype must be a float, got %s",
                         takt_dtype_name(in->out[0].dtype));
    return TAKT_OK;
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    const takt_id u = takt_random_draw(g, n, 0, STREAM, TAKT_RANDOM_NORMAL, &n->type[0]);
    out[0] = takt_add_scalar(g, takt_mul_scalar(g, u, n->attr[DEVIATION].f64), n->attr[MEAN].f64);
}

const takt_op takt_op_random_normal = {
    .name = "random_normal",
    .summary = "random numbers of a normal distribution",
    .in_min = 3,
    .in_max = 3,
    .in_names = {"seed", "step", "base"},
    .attrs =
        {[STREAM] = TAKT_RANDOM_STREAM_ATTR,
         [MEAN] = {.name = "mean", .type = TAKT_ATTR_F64, .fallback.f64 = 0, .summary = "the mean"},
         [DEVIATION] = {.name = "deviation",
                        .type = TAKT_ATTR_F64,
                        .fallback.f64 = 1,
                        .summary = "the standard deviation"},
         [DTYPE] = {.name = "dtype",
                    .type = TAKT_ATTR_DTYPE,
                    .fallback.dtype = TAKT_F32,
                    .summary = "element type of the result"},
         [SHAPE] = {.name = "shape",
                    .type = TAKT_ATTR_SHAPE,
                    .is_required = true,
                    .summary = "dimensions of the result"}},
    .dtypes = TAKT_IN(TAKT_U64),
    .infer = infer,
    .lower = lower,
    .samples = {"random_normal(u64[], u64[], u64[], stream=0, shape=[3, 5], mean=3)",
                "random_normal(u64[], u64[], u64[], stream=1, dtype=f64, shape=[7], deviation=0.5)",
                "random_normal(u64[], u64[], u64[], stream=2, dtype=f16, shape=[2, 2])"},
};
