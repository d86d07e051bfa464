/* bernoulli.c - 1 with the probability given by p, else 0.
 *
 * 1 where a uniform number of the same position is below p: p of 0 never, p of 1 always gives 1.
 */
#include "op/util/check.h"
#include "op/util/random.h"

enum { STREAM, DTYPE };

static takt_status infer(takt_infer *in)
{
    TAKT_TRY(takt_infer_dtype(in, 0, TAKT_FLOATS, "a float"));
    TAKT_TRY(takt_random_infer(in, 1, STREAM));
    in->out[0] = *in->type[0];
    if (in->attr[DTYPE].is_set)
        in->out[0].dtype = in->attr[DTYPE].dtype;
    if ((TAKT_COMPUTE & TAKT_IN(in->out[0].dtype)) == 0)
        return takt_fail(in->ctx, TAKT_E_DTYPE, "bernoulli: does not give %s",
                         takt_dtype_name(in->out[0].dtype));
    return TAKT_OK;
}

/* In f32 or wider: bf16 has only 256 different uniform numbers. */
static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    takt_type type = *takt_type_of(g, n->in[0]);
    type.dtype = type.dtype == TAKT_F64 ? TAKT_F64 : TAKT_F32;
    const takt_id u = takt_random_draw(g, n, 1, STREAM, TAKT_RANDOM_UNIFORM, &type);
    const takt_id hit = takt_binary(g, &takt_op_lt, u, takt_cast(g, n->in[0], type.dtype));
    out[0] = takt_cast(g, hit, n->type[0].dtype);
}

const takt_op takt_op_bernoulli = {
    .name = "bernoulli",
    .summary = "1 with the probability p, else 0",
    .in_min = 4,
    .in_max = 4,
    .in_names = {"p", "seed", "step", "base"},
    .attrs = {[STREAM] = TAKT_RANDOM_STREAM_ATTR,
              [DTYPE] = {.name = "dtype",
                         .type = TAKT_ATTR_DTYPE,
                         .is_optional = true,
                         .summary = "element type of the result; that of p if absent"}},
    .dtypes = TAKT_FLOATS | TAKT_IN(TAKT_U64),
    .is_mixed = true,
    .infer = infer,
    .lower = lower,
    .samples = {"bernoulli(f32[3, 5] in (0, 1), u64[], u64[], u64[], stream=1)",
                "bernoulli(f64[7] in (0, 1), u64[], u64[], u64[], stream=2, dtype=bool)",
                "bernoulli(bf16[2, 2] in (0, 1), u64[], u64[], u64[], stream=3, dtype=i32)"},
};
