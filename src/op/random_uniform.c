/* random_uniform.c - random numbers between low and high that depend only on seed, step, stream and
 * element. */
#include "op/util/random.h"

enum { STREAM, LOW, HIGH, DTYPE, SHAPE };

static takt_status infer(takt_infer *in)
{
    return takt_random_infer_shaped(in, STREAM, DTYPE, SHAPE);
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    const takt_id u = takt_random_draw(g, n, 0, STREAM, TAKT_RANDOM_UNIFORM, &n->type[0]);
    const double low = n->attr[LOW].f64, high = n->attr[HIGH].f64;
    out[0] = takt_add_scalar(g, takt_mul_scalar(g, u, high - low), low);
}

const takt_op takt_op_random_uniform = {
    .name = "random_uniform",
    .summary = "random numbers between low and high",
    .in_min = 3,
    .in_max = 3,
    .in_names = {"seed", "step", "base"},
    .attrs = {[STREAM] = TAKT_RANDOM_STREAM_ATTR,
              [LOW] = {.name = "low",
                       .type = TAKT_ATTR_F64,
                       .fallback.f64 = 0,
                       .summary = "the least value"},
              [HIGH] = {.name = "high",
                        .type = TAKT_ATTR_F64,
                        .fallback.f64 = 1,
                        .summary = "what all values are below"},
              [DTYPE] = TAKT_RANDOM_DTYPE_ATTR,
              [SHAPE] = TAKT_RANDOM_SHAPE_ATTR},
    .dtypes = TAKT_IN(TAKT_U64),
    .infer = infer,
    .lower = lower,
    .samples = {"random_uniform(u64[], u64[], u64[], stream=0, shape=[3, 5], low=-1, high=2)",
                "random_uniform(u64[], u64[], u64[], stream=1, dtype=f64, shape=[7])",
                "random_uniform(u64[], u64[], u64[], stream=2, dtype=bf16, shape=[2, 2], high=8)"},
};
