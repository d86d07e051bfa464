/* random_normal.c - normally distributed random numbers that depend only on seed, step, stream and
 * element. */
#include "op/util/random.h"

enum { STREAM, MEAN, DEVIATION, DTYPE, SHAPE };

static takt_status infer(takt_infer *in)
{
    return takt_random_infer_shaped(in, STREAM, DTYPE, SHAPE);
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
         [DTYPE] = TAKT_RANDOM_DTYPE_ATTR,
         [SHAPE] = TAKT_RANDOM_SHAPE_ATTR},
    .dtypes = TAKT_IN(TAKT_U64),
    .infer = infer,
    .lower = lower,
    .samples = {"random_normal(u64[], u64[], u64[], stream=0, shape=[3, 5], mean=3)",
                "random_normal(u64[], u64[], u64[], stream=1, dtype=f64, shape=[7], deviation=0.5)",
                "random_normal(u64[], u64[], u64[], stream=2, dtype=f16, shape=[2, 2])"},
};
