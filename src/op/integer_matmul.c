/* integer_matmul.c - product of 8-bit matrices with zero points, exact, optionally requantised. */
#include "op/util/check.h"
#include "op/util/integer.h"
#include "op/util/make.h"

static takt_status infer(takt_infer *in)
{
    const takt_type *a = in->type[0], *b = in->type[1];
    TAKT_TRY(takt_infer_rank(in, 0, 1, TAKT_MAX_RANK));
    TAKT_TRY(takt_infer_rank(in, 1, 2, 2));
    TAKT_TRY(takt_check_dims(in, 0, a->rank - 1, 1, 0));
    in->out[0] = *a;
    in->out[0].dim[a->rank - 1] = b->dim[1];
    return takt_integer_infer(in, b->dim[1]);
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    if (takt_integer_is_other(g, n)) {
        out[0] = takt_integer_lower_other(g, n, 0);
        return;
    }
    const takt_id a = takt_integer_shifted(g, n, TAKT_INTEGER_A, 0);
    const takt_id b = takt_integer_shifted(g, n, TAKT_INTEGER_B, 0);
    out[0] = takt_integer_finish(g, n, takt_matmul(g, a, b, false, false), 0);
}

static void cost(const takt_graph *g, const takt_node *n, takt_cost *cost)
{
    const takt_dim inner = takt_type_of(g, n->in[1])->dim[0];
    cost->flops = 2 * takt_make_count(&n->type[0]) * (double)(inner > 0 ? inner : 0);
    cost->bytes = takt_make_bytes(g, n);
}

const takt_op takt_op_integer_matmul = {
    .name = "integer_matmul",
    .summary = "product of 8-bit matrices less their zero points, summed in i32, and requantised "
               "if there is a scale",
    .in_min = 2,
    .in_max = TAKT_INTEGER_ALL,
    .in_names = {"a", "b", "a_zero", "b_zero", "bias", "scale", "zero", "shift"},
    .traits = TAKT_CONTRACTS,
    .dtypes = TAKT_BYTES | TAKT_IN(TAKT_I32) | TAKT_IN(TAKT_F32) | TAKT_IN(TAKT_F64),
    .is_mixed = true,
    .infer = infer,
    .lower = lower,
    .cost = cost,
    .samples =
        {"integer_matmul(u8[3, 5], i8[5, 4])",
         "integer_matmul(i8[2, 3, 70], u8[70, 33], i8[], u8[33])",
         "integer_matmul(u8[7, 9], i8[9, 17], u8[], i8[], i32[17] in (-99, 99), f32[17] in "
         "(0.001, 0.01), u8[] in (0, 200))",
         "integer_matmul(i8[9], i8[9, 3], i8[], i8[3], i32[3] in (-99, 99), f32[] in "
         "(0.001, 0.01))",
         "integer_matmul(u8[5, 300], u8[300, 20], u8[], u8[], i32[20] in (-99, 99), f32[] "
         "in (0.0001, 0.001), i8[])",
         "integer_matmul(i8[7, 9], i8[9, 17], i8[], i8[], i32[17] in (-99, 99), i32[17] in "
         "(1073741824, 2147483647), i8[], i32[17] in (-12, -5))",
         "integer_matmul(u8[3, 40], u8[40, 33], u8[], u8[], i32[33] in (-99, 99), i32[] in "
         "(1073741824, 2147483647), u8[], i32[] in (-14, 2))",
         "integer_matmul(i8[7, 20], i8[20, 33], i8[], i8[], i32[33] in (-99, 99), f64[33] in "
         "(0.0001, 0.01), i8[])",
         "integer_matmul(u8[1, 9], u8[9, 5], u8[], u8[], i32[5] in (-99, 99), f64[] in "
         "(0.5, 0.5), u8[])"},
};
