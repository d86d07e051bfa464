/* roi_align.c - mean or maximum of interpolated samples in each bin of regions of an image.
 *
 * `rois` has left, top, right and bottom of each region, `batch` the number of its image. As ONNX
 * RoiAlign; the maximum is that of the weighted corners, as in ONNX.
 */
#include "op/record/roi_align_dx.h"
#include "op/util/roi.h"

static takt_status infer(takt_infer *in)
{
    return takt_roi_infer(in, 4, &in->out[0]);
}

/* Gradient of x only: regions are treated as constants. */
static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_node n = *takt_node_at(g, id);
    dx[0] = takt_graph_append(g, &takt_op_roi_align_dx, 4,
                              (takt_id[]){n.in[0], n.in[1], n.in[2], dy[0]}, n.attr);
}

const takt_op takt_op_roi_align = {
    .name = "roi_align",
    .summary = "interpolated samples in each bin of regions of an image, their mean or largest",
    .in_min = 3,
    .in_max = 3,
    .in_names = {"x", "rois", "batch"},
    .attrs = {TAKT_ROI_ALIGN_ATTRS},
    .traits = TAKT_PRIMITIVE | TAKT_INDEXED,
    .dtypes = TAKT_FLOATS | TAKT_IN(TAKT_I64) | TAKT_IN(TAKT_I32),
    .is_mixed = true,
    .infer = infer,
    .eval = takt_roi_eval,
    .grad = grad,
    .grad_stops = 1U << 1, /* rois */
    .no_bound = "the weights of its samples are not followed",
    .fixed = 6,
    .samples = {"roi_align(f32[2, 70, 4, 4], f32[3, 4] in (0, 6), i64[3] in (0, 1), height=2, "
                "width=1, samples=6)",
                "roi_align(f64[1, 2, 5, 5], f64[2, 4] in (-2, 9), i64[2] in (0, 0), height=2, "
                "width=2, scale=0.5, aligned=false)",
                "roi_align(f32[1, 66, 4, 4], f32[1, 4] in (-2, 9), i32[1] in (-1, 0), height=3, "
                "width=1, mode=max, samples=6)",
                "roi_align(f16[1, 1, 4, 4], f16[1, 4] in (0, 4), i64[1] in (0, 0))"},
};
