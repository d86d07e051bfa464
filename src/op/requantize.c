/* requantize.c - converts bytes to another scale and zero point: quantize(dequantize(q)). */
#include "op/util/check.h"
#include "op/util/integer.h"
#include "op/util/make.h"

enum { Q, SCALE, TO_SCALE, ZERO, TO_ZERO };

static takt_status check_scale(takt_infer *in, size_t which)
{
    TAKT_TRY(takt_infer_rank(in, which, 0, 0));
    return takt_infer_dtype(in, which, TAKT_IN(TAKT_F32), "f32");
}

static takt_status infer(takt_infer *in)
{
    TAKT_TRY(takt_infer_dtype(in, Q, TAKT_BYTES, "i8 or u8"));
    TAKT_TRY(check_scale(in, SCALE));
    TAKT_TRY(check_scale(in, TO_SCALE));
    for (size_t k = ZERO; k <= TO_ZERO; k++)
        TAKT_TRY(takt_infer_rank(in, k, 0, 0));
    TAKT_TRY(takt_check_same_dtype(in, Q, ZERO));
    TAKT_TRY(takt_infer_dtype(in, TO_ZERO, TAKT_BYTES, "i8 or u8"));
    in->out[0] = *in->type[Q];
    in->out[0].dtype = in->type[TO_ZERO]->dtype;
    return TAKT_OK;
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    const takt_node old = *n;
    const takt_id wide =
        takt_graph_call(g, &takt_op_dequantize, 3,
                        (const takt_id[]){old.in[Q], old.in[SCALE], old.in[ZERO]}, 0, NULL);
    const takt_named_attr attrs[] = {
        {"dtype", takt_attr_dtype(takt_type_of(g, old.in[TO_ZERO])->dtype)}};
    out[0] = takt_graph_call(g, &takt_op_quantize, 3,
                             (const takt_id[]){wide, old.in[TO_SCALE], old.in[TO_ZERO]}, 1, attrs);
}

static void cost(const takt_graph *g, const takt_node *n, takt_cost *cost)
{
    cost->flops = takt_make_count(&n->type[0]);
    cost->bytes = takt_make_bytes(g, n);
}

const takt_op takt_op_requantize = {
    .name = "requantize",
    .summary = "quantize(dequantize(q)): bytes with one scale and zero point to bytes with others",
    .in_min = 5,
    .in_max = 5,
    .in_names = {"q", "scale", "to_scale", "zero", "to_zero"},
    .dtypes = TAKT_BYTES | TAKT_IN(TAKT_F32),
    .is_mixed = true,
    .infer = infer,
    .lower = lower,
    .cost = cost,
    .samples = {"requantize(u8[3, 5], f32[] in (0.01, 0.1), f32[] in (0.01, 0.1), u8[], u8[])",
                "requantize(i8[70], f32[] in (0.01, 0.1), f32[] in (0.001, 0.1), i8[], u8[])",
                "requantize(u8[], f32[] in (0.01, 0.1), f32[] in (0.01, 0.1), u8[], i8[])"},
};
