/* dropout.c - sets random elements of x to 0 and scales up the others.
 *
 * An element is kept where a uniform number of its position is at least `rate`, and then divided by
 * 1 - rate, which preserves the mean. The second result tells which were kept.
 */
#include "op/util/check.h"
#include "op/util/formula.h"
#include "op/util/random.h"

enum { STREAM, RATE };

static takt_status infer(takt_infer *in)
{
    TAKT_TRY(takt_infer_dtype(in, 0, TAKT_FLOATS, "a float"));
    TAKT_TRY(takt_random_infer(in, 1, STREAM));
    const double rate = in->attr[RATE].f64;
    if (!(rate >= 0 && rate <= 1))
        return takt_fail(in->ctx, TAKT_E_ATTR, "dropout: rate must be from 0 to 1, got %g", rate);
    in->out[0] = in->out[1] = *in->type[0];
    in->out[1].dtype = TAKT_BOOL;
    return TAKT_OK;
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    takt_type type = *takt_type_of(g, n->in[0]);
    const double rate = n->attr[RATE].f64;
    type.dtype = TAKT_F32;
    const takt_id u = takt_random_draw(g, n, 1, STREAM, TAKT_RANDOM_UNIFORM, &type);
    if (u == TAKT_NONE)
        return;
    out[1] = takt_binary(g, &takt_op_le, takt_scalar_like(g, u, rate), u);
    const double scale = rate < 1 ? 1 / (1 - rate) : 0;
    out[0] = takt_keep_where(g, out[1], takt_mul_scalar(g, n->in[0], scale));
}

const takt_op takt_op_dropout = {
    .name = "dropout",
    .summary = "x with elements drawn at random set to 0, the others scaled up",
    .in_min = 4,
    .in_max = 4,
    .in_names = {"x", "seed", "step", "base"},
    .out_count = 2,
    .attrs = {[STREAM] = TAKT_RANDOM_STREAM_ATTR,
              [RATE] = {.name = "rate",
                        .type = TAKT_ATTR_F64,
                        .fallback.f64 = 0.5,
                        .summary = "the probability of being dropped"}},
    .dtypes = TAKT_FLOATS | TAKT_IN(TAKT_U64),
    .is_mixed = true,
    .infer = infer,
    .lower = lower,
    .samples = {"dropout(f32[4, 5], u64[], u64[], u64[], stream=1)",
                "dropout(f64[7], u64[], u64[], u64[], stream=2, rate=0.25)",
                "dropout(f16[3], u64[], u64[], u64[], stream=3, rate=1)"},
};
