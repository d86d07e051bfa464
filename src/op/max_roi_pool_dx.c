/* max_roi_pool_dx.c - gradient of max_roi_pool: dy at the largest element of each bin. */
#include "op/util/roi.h"

static takt_status infer(takt_infer *in)
{
    return takt_roi_infer_dx(in, 5);
}

const takt_op takt_op_max_roi_pool_dx = {
    .name = "max_roi_pool_dx",
    .summary = "gradient of max_roi_pool: dy at the largest element of each bin",
    .in_min = 3,
    .in_max = 3,
    .in_names = {"x", "rois", "dy"},
    .attrs = {TAKT_ROI_BIN_ATTRS},
    .traits = TAKT_PRIMITIVE | TAKT_INDEXED,
    .dtypes = TAKT_FLOATS,
    .infer = infer,
    .eval = takt_roi_eval_dx,
    .no_gradient = "second derivatives of max_roi_pool are not offered",
    .no_bound = "which element of a window is largest is not followed",
    .fixed = 1U << 1,
    .samples = {"max_roi_pool_dx(f32[1, 3, 7, 8], f32[2, 5] in (0, 0.9), f32[2, 3, 2, 3], "
                "height=2, width=3, scale=7)",
                "max_roi_pool_dx(f64[1, 2, 5, 5], f64[2, 5] in (0, 0.4), f64[2, 2, 2, 2], "
                "height=2, width=2, scale=20)"},
};
