/* ggml_quantize.c - floats rounded to blocks of ggml's type q8_0.
 *
 * The largest magnitude of 32 neighbours in a row gives the scale d = most / 127, stored in f16;
 * each is stored as x * (1 / d), rounded half away from zero, in 8 bits. The bits equal ggml's. A
 * block with an infinity or NaN has a scale of NaN.
 */
#include "op/util/bound.h"
#include "op/util/check.h"
#include "op/util/ggml.h"
#include "op/util/make.h"
#include "op/util/stops.h"

enum { FORMAT, SIZE = 32, BYTES = 34 };

static takt_status infer(takt_infer *in)
{
    TAKT_TRY(takt_infer_dtype(in, 0, TAKT_IN(TAKT_F32), "f32"));
    TAKT_TRY(takt_infer_rank(in, 0, 1, TAKT_MAX_RANK));
    if (in->attr[FORMAT].i64 != TAKT_GGML_Q8_0)
        return takt_infer_fail(in, TAKT_E_ATTR, "floats are rounded to q8_0, not to %s",
                               takt_ggml_names[in->attr[FORMAT].i64]);
    takt_type out = *in->type[0];
    const takt_dim width = out.dim[out.rank - 1];
    if (!takt_dim_is_number(width) || width % SIZE != 0 || width > TAKT_CHECK_BIG / BYTES * SIZE)
        return takt_infer_fail(in, TAKT_E_SHAPE, "a row of q8_0 is a multiple of 32 numbers");
    out.dtype = TAKT_U8;
    out.dim[out.rank - 1] = width / SIZE * BYTES;
    in->out[0] = out;
    return TAKT_OK;
}

static takt_status eval(takt_eval *e)
{
    for (size_t i = 0; i < e->in[0].count / SIZE && !takt_eval_stops(e, 1); i++) {
        uint8_t block[BYTES];
        float x[SIZE];
        for (size_t k = 0; k < SIZE; k++)
            x[k] = (float)e->in[0].f[i * SIZE + k];
        takt_ggml_round_q8_0(x, 1, block);
        for (size_t k = 0; k < BYTES; k++)
            e->out[0].i[i * BYTES + k] = block[k];
    }
    return TAKT_OK;
}

static void cost(const takt_graph *g, const takt_node *n, takt_cost *cost)
{
    cost->flops = 4 * takt_make_count(takt_type_of(g, n->in[0]));
    cost->bytes = takt_make_bytes(g, n);
}

const takt_op takt_op_ggml_quantize = {
    .name = "ggml_quantize",
    .summary = "floats rounded to blocks of one of ggml's formats",
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .attrs = {[FORMAT] = {.name = "format",
                          .type = TAKT_ATTR_ENUM,
                          .names = takt_ggml_names,
                          .is_required = true,
                          .summary = "q8_0"}},
    .traits = TAKT_PRIMITIVE,
    .dtypes = TAKT_IN(TAKT_F32),
    .infer = infer,
    .eval = eval,
    .no_gradient = "bytes of blocks are not numbers",
    .cost = cost,
    .no_bound = "bytes of blocks are not numbers",
    .samples = {"ggml_quantize(f32[2, 3, 64], format=q8_0)", "ggml_quantize(f32[32], format=q8_0)",
                "ggml_quantize(f32[5, 96] in (-1000, 1000), format=q8_0)"},
};
