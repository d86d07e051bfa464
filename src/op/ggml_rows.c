/* ggml_rows.c - gathers rows of a table in ggml's block formats as floats.
 *
 * A table that is also used in matrix products is stored once, in the form that those read.
 */
#include "op/util/check.h"
#include "op/util/ggml.h"
#include "op/util/make.h"

enum { TABLE, IDS };

static takt_status infer(takt_infer *in)
{
    takt_dim weights = 0;
    const takt_type *ids = in->type[IDS];
    TAKT_TRY(takt_ggml_width(in, TABLE, &weights));
    TAKT_TRY(takt_infer_rank(in, TABLE, 2, 2));
    TAKT_TRY(takt_infer_dtype(in, IDS, TAKT_IN(TAKT_I64) | TAKT_IN(TAKT_I32), "i64 or i32"));
    TAKT_TRY(takt_infer_rank(in, IDS, 0, TAKT_MAX_RANK - 1));
    in->out[0] = *ids;
    in->out[0].dtype = TAKT_F32;
    in->out[0].dim[in->out[0].rank++] = weights;
    return TAKT_OK;
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    const takt_named_attr axis = {"axis", takt_attr_i64(0)}, format = {"format", n->attr[0]};
    const takt_id rows =
        takt_graph_call(g, &takt_op_gather, 2, (takt_id[]){n->in[TABLE], n->in[IDS]}, 1, &axis);
    out[0] = takt_graph_call(g, &takt_op_ggml_dequantize, 1, &rows, 1, &format);
}

static void cost(const takt_graph *g, const takt_node *n, takt_cost *cost)
{
    (void)g;
    cost->flops = 2 * takt_make_count(&n->type[0]);
    cost->bytes = 5 * takt_make_count(&n->type[0]);
}

const takt_op takt_op_ggml_rows = {
    .name = "ggml_rows",
    .summary = "floats of rows of a table in one of ggml's block formats",
    .in_min = 2,
    .in_max = 2,
    .in_names = {"table", "ids"},
    .attrs = {{.name = "format",
               .type = TAKT_ATTR_ENUM,
               .names = takt_ggml_names,
               .is_required = true,
               .summary = "ggml's name of the type"}},
    .dtypes = TAKT_IN(TAKT_U8) | TAKT_IN(TAKT_I64) | TAKT_IN(TAKT_I32),
    .is_mixed = true,
    .infer = infer,
    .lower = lower,
    .cost = cost,
    .samples = {"ggml_rows(u8[20, 36] in (0, 60), i64[5] in (0, 19), format=q4_0)",
                "ggml_rows(u8[3, 288] in (0, 60), i32[2, 2] in (-3, 2), format=q4_k)",
                "ggml_rows(u8[17, 34] in (0, 60), i64[] in (0, 16), format=q8_0)"},
};
