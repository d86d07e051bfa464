/* multinomial.c - class numbers, drawn by unnormalised log probabilities.
 *
 * Each sample draws a uniform number; the result is the number of running sums of softmax(logits)
 * that it has reached, so the last class absorbs rounding errors.
 */
#include "op/util/check.h"
#include "op/util/formula.h"
#include "op/util/random.h"

enum { STREAM, SAMPLES, DTYPE };

static takt_status infer(takt_infer *in)
{
    const takt_type *x = in->type[0];
    TAKT_TRY(takt_infer_rank(in, 0, 2, 2));
    TAKT_TRY(takt_infer_dtype(in, 0, TAKT_FLOATS, "a float"));
    TAKT_TRY(takt_random_infer(in, 1, STREAM));
    TAKT_TRY(takt_check_range(in, SAMPLES, 0, TAKT_CHECK_BIG));
    if (x->dim[1] == 0)
        return takt_infer_fail(in, TAKT_E_SHAPE, "there is no class to draw");
    const takt_dtype dtype = in->attr[DTYPE].dtype;
    if (dtype != TAKT_I64 && dtype != TAKT_I32)
        return takt_fail(in->ctx, TAKT_E_DTYPE, "multinomial: dtype must be i64 or i32, got %s",
                         takt_dtype_name(dtype));
    in->out[0] = (takt_type){.dtype = dtype, .rank = 2, .dim = {x->dim[0], in->attr[SAMPLES].i64}};
    return TAKT_OK;
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    const takt_type x = *takt_type_of(g, n->in[0]);
    const takt_dim batch = x.dim[0], samples = n->attr[SAMPLES].i64;
    takt_id sums = takt_unary(g, &takt_op_softmax, takt_widen(g, n->in[0]));
    sums = takt_graph_call(g, &takt_op_cumsum, 1, &sums, 1,
                           &(takt_named_attr){"axis", takt_attr_i64(1)});
    sums = takt_slice(g, sums, 1, 0, -1, 1);
    if (sums == TAKT_NONE)
        return;
    const takt_type inner = *takt_type_of(g, sums);
    sums = takt_reshape(g, sums, (takt_dim[]){batch, 1, inner.dim[1]}, 3);
    const takt_type drawn = {.dtype = inner.dtype, .rank = 3, .dim = {batch, samples, 1}};
    const takt_id u = takt_random_draw(g, n, 1, STREAM, TAKT_RANDOM_UNIFORM, &drawn);
    const takt_id passed = takt_cast(g, takt_binary(g, &takt_op_le, sums, u), n->type[0].dtype);
    const int64_t axis = 2;
    out[0] = takt_reduce_over(g, &takt_op_reduce_sum, passed, &axis, 1, false);
}

const takt_op takt_op_multinomial = {
    .name = "multinomial",
    .summary = "classes drawn by the logarithms of their probabilities",
    .in_min = 4,
    .in_max = 4,
    .in_names = {"logits", "seed", "step", "base"},
    .attrs = {[STREAM] = TAKT_RANDOM_STREAM_ATTR,
              [SAMPLES] = {.name = "samples",
                           .type = TAKT_ATTR_I64,
                           .fallback.i64 = 1,
                           .summary = "how many for each row of logits"},
              [DTYPE] = {.name = "dtype",
                         .type = TAKT_ATTR_DTYPE,
                         .fallback.dtype = TAKT_I64,
                         .summary = "i64 or i32"}},
    .dtypes = TAKT_FLOATS | TAKT_IN(TAKT_U64),
    .is_mixed = true,
    .infer = infer,
    .lower = lower,
    .samples = {"multinomial(f32[2, 5], u64[], u64[], u64[], stream=1, samples=4)",
                "multinomial(f64[3, 1], u64[], u64[], u64[], stream=2, samples=2, dtype=i32)",
                "multinomial(f16[1, 7], u64[], u64[], u64[], stream=3)"},
};
