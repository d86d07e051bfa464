/* depth_to_space.c - channels become blocks of pixels: [N, C, H, W] to [N, C/b/b, H*b, W*b]. */
#include "op/util/blocks.h"
#include "op/util/check.h"

enum { BLOCK, MODE };
enum { DCR, CRD };

static const char *const modes[] = {"dcr", "crd", NULL};

static takt_status infer(takt_infer *in)
{
    const int64_t b = in->attr[BLOCK].i64;
    TAKT_TRY(takt_infer_rank(in, 0, 4, 4));
    TAKT_TRY(takt_check_range(in, BLOCK, 1, 1 << 15));
    in->out[0] = *in->type[0];
    takt_dim *d = in->out[0].dim;
    TAKT_TRY(takt_blocks_divide(in, 1, b * b, &d[1]));
    TAKT_TRY(takt_dim_make(in->dims, TAKT_DIM_MUL, d[2], b, &d[2]));
    return takt_dim_make(in->dims, TAKT_DIM_MUL, d[3], b, &d[3]);
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    static const int64_t perms[2][6] = {[DCR] = {0, 3, 4, 1, 5, 2}, [CRD] = {0, 1, 4, 2, 5, 3}};
    const takt_dim *x = takt_type_of(g, n->in[0])->dim;
    const takt_dim b = n->attr[BLOCK].i64, c = n->type[0].dim[1];
    const takt_dim dcr[6] = {x[0], b, b, c, x[2], x[3]}, crd[6] = {x[0], c, b, b, x[2], x[3]};
    const int64_t mode = n->attr[MODE].i64;
    out[0] = takt_blocks_move(g, n, mode == DCR ? dcr : crd, perms[mode]);
}

const takt_op takt_op_depth_to_space = {
    .name = "depth_to_space",
    .summary = "channels become blocks of pixels",
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .attrs = {[BLOCK] = {.name = "block",
                         .type = TAKT_ATTR_I64,
                         .is_required = true,
                         .onnx = "blocksize",
                         .summary = "side of a block"},
              [MODE] = {.name = "mode",
                        .type = TAKT_ATTR_ENUM,
                        .names = modes,
                        .summary = "dcr: place in the block is the slower part of the channel, "
                                   "crd: the faster"}},
    .traits = TAKT_VIEW,
    .dtypes = TAKT_ANY,
    .infer = infer,
    .lower = lower,
    .samples = {"depth_to_space(f32[2, 12, 3, 2], block=2)",
                "depth_to_space(f64[1, 9, 2, 1], block=3, mode=crd)",
                "depth_to_space(u8[1, 3, 2, 2], block=1)"},
};
