/* max_roi_pool.c - the largest element in each bin of regions of an image.
 *
 * `rois` has the image number, left, top, right and bottom of each region, rounded to whole
 * elements; bins may overlap by one, an empty one gives 0. As ONNX MaxRoiPool.
 */
#include "op/record/max_roi_pool_dx.h"
#include "op/util/bound.h"
#include "op/util/roi.h"

static takt_status infer(takt_infer *in)
{
    return takt_roi_infer(in, 5, &in->out[0]);
}

static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_node n = *takt_node_at(g, id);
    dx[0] = takt_graph_append(g, &takt_op_max_roi_pool_dx, 3, (takt_id[]){n.in[0], n.in[1], dy[0]},
                              n.attr);
}

const takt_op takt_op_max_roi_pool = {
    .name = "max_roi_pool",
    .summary = "the largest element in each bin of regions of an image",
    .in_min = 2,
    .in_max = 2,
    .in_names = {"x", "rois"},
    .attrs = {TAKT_ROI_BIN_ATTRS},
    .traits = TAKT_PRIMITIVE | TAKT_INDEXED,
    .dtypes = TAKT_FLOATS,
    .infer = infer,
    .eval = takt_roi_eval,
    .grad = grad,
    .grad_stops = 1U << 1, /* rois */
    .bound = takt_bound_exact,
    .fixed = 1U << 1, /* rois */
    .samples = {"max_roi_pool(f32[1, 3, 7, 8], f32[2, 5] in (0, 0.9), height=2, width=3, scale=7)",
                "max_roi_pool(f64[1, 2, 5, 5], f64[2, 5] in (0, 0.4), height=2, width=2, scale=20)",
                "max_roi_pool(f16[1, 1, 4, 4], f16[1, 5] in (0, 0.5))"},
};
