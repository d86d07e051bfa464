/* space_to_depth.c - blocks of pixels become channels: [N, C, H, W] to [N, C*b*b, H/b, W/b]. */
#include "op/util/blocks.h"
#include "op/util/check.h"

enum { BLOCK };

static takt_status infer(takt_infer *in)
{
    const int64_t b = in->attr[BLOCK].i64;
    TAKT_TRY(takt_infer_rank(in, 0, 4, 4));
    TAKT_TRY(takt_check_range(in, BLOCK, 1, 1 << 15));
    in->out[0] = *in->type[0];
    takt_dim *d = in->out[0].dim;
    TAKT_TRY(takt_blocks_divide(in, 2, b, &d[2]));
    TAKT_TRY(takt_blocks_divide(in, 3, b, &d[3]));
    return takt_dim_make(in->dims, TAKT_DIM_MUL, d[1], b * b, &d[1]);
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    const takt_dim *x = takt_type_of(g, n->in[0])->dim, *y = n->type[0].dim;
    const takt_dim b = n->attr[BLOCK].i64;
    const takt_dim split[6] = {x[0], x[1], y[2], b, y[3], b};
    out[0] = takt_blocks_move(g, n, split, (const int64_t[]){0, 3, 5, 1, 2, 4});
}

const takt_op takt_op_space_to_depth = {
    .name = "space_to_depth",
    .summary = "blocks of pixels become channels",
    .onnx = {{"SpaceToDepth", 1, 0}},
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .attrs = {[BLOCK] = {.name = "block",
                         .type = TAKT_ATTR_I64,
                         .is_required = true,
                         .onnx = "blocksize",
                         .summary = "side of a block"}},
    .traits = TAKT_VIEW,
    .dtypes = TAKT_ANY,
    .infer = infer,
    .lower = lower,
    .samples = {"space_to_depth(f32[2, 3, 4, 6], block=2)",
                "space_to_depth(f64[1, 1, 3, 3], block=3)"},
};
