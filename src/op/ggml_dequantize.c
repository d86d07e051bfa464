/* ggml_dequantize.c - converts weights in ggml's block formats to floats.
 *
 * b holds the bytes of blocks as in a file, row after row. Gathering rows before converting them
 * keeps an embedding table in its compact form.
 */
#include "op/util/bound.h"
#include "op/util/check.h"
#include "op/util/ggml.h"
#include "op/util/make.h"
#include "op/util/stops.h"

enum { FORMAT };

static takt_status infer(takt_infer *in)
{
    takt_dim weights = 0;
    TAKT_TRY(takt_ggml_width(in, 0, &weights));
    in->out[0] = *in->type[0];
    in->out[0].dtype = TAKT_F32;
    in->out[0].dim[in->out[0].rank - 1] = weights;
    return TAKT_OK;
}

static takt_status eval(takt_eval *e)
{
    const takt_ggml_format format = (takt_ggml_format)e->attr[FORMAT].i64;
    const takt_ggml_info *info = &takt_ggml_formats[format];
    for (size_t i = 0; i < e->in[0].count / info->bytes && !takt_eval_stops(e, 1); i++) {
        uint8_t block[256];
        float weights[256];
        for (size_t k = 0; k < info->bytes; k++)
            block[k] = (uint8_t)e->in[0].i[i * info->bytes + k];
        takt_ggml_decode(format, block, 1, weights);
        for (size_t k = 0; k < info->weights; k++)
            e->out[0].f[i * info->weights + k] = (double)weights[k];
    }
    return TAKT_OK;
}

static void cost(const takt_graph *g, const takt_node *n, takt_cost *cost)
{
    cost->flops = 2 * takt_make_count(&n->type[0]);
    cost->bytes = takt_make_bytes(g, n);
}

const takt_op takt_op_ggml_dequantize = {
    .name = "ggml_dequantize",
    .summary = "floats of weights in one of ggml's block formats",
    .in_min = 1,
    .in_max = 1,
    .in_names = {"b"},
    .attrs = {[FORMAT] = {.name = "format",
                          .type = TAKT_ATTR_ENUM,
                          .names = takt_ggml_names,
                          .is_required = true,
                          .summary = "ggml's name of the type"}},
    .traits = TAKT_PRIMITIVE,
    .dtypes = TAKT_IN(TAKT_U8),
    .infer = infer,
    .eval = eval,
    .no_gradient = "bytes of blocks are not numbers",
    .cost = cost,
    .no_bound = "bytes of blocks are not numbers",
    .samples = {"ggml_dequantize(u8[3, 36] in (0, 60), format=q4_0)",
                "ggml_dequantize(u8[2, 2, 144] in (0, 60), format=q4_k)",
                "ggml_dequantize(u8[210] in (0, 60), format=q6_k)",
                "ggml_dequantize(u8[5, 34] in (0, 60), format=q8_0)"},
};
