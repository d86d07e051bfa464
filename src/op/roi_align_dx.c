/* roi_align_dx.c - gradient of roi_align: distributes dy to the elements that a bin read. */
#include "op/util/roi.h"

static takt_status infer(takt_infer *in)
{
    return takt_roi_infer_dx(in, 4);
}

/* Linear in dy; of x only the winners matter, which do not move. */
static void grad(takt_graph *g, takt_id id, const takt_id *t, takt_id *dx)
{
    const takt_node n = *takt_node_at(g, id);
    if (n.attr[TAKT_ROI_MODE].i64 == TAKT_ROI_MAX) {
        takt_graph_fail(g, takt_fail(g->ctx, TAKT_E_NO_GRADIENT,
                                     "roi_align_dx: has no gradient when mode is max"));
        return;
    }
    dx[3] =
        takt_graph_append(g, &takt_op_roi_align, 3, (takt_id[]){t[0], n.in[1], n.in[2]}, n.attr);
}

const takt_op takt_op_roi_align_dx = {
    .name = "roi_align_dx",
    .summary = "gradient of roi_align: dy to the elements that each bin looked at",
    .in_min = 4,
    .in_max = 4,
    .in_names = {"x", "rois", "batch", "dy"},
    .attrs = {TAKT_ROI_ALIGN_ATTRS},
    .traits = TAKT_PRIMITIVE | TAKT_INDEXED,
    .dtypes = TAKT_FLOATS | TAKT_IN(TAKT_I64) | TAKT_IN(TAKT_I32),
    .is_mixed = true,
    .infer = infer,
    .eval = takt_roi_eval_dx,
    .grad = grad,
    .grad_stops = 1U << 1, /* rois */
    .no_bound = "the weights of its samples are not followed",
    .fixed = 6,
    .samples = {"roi_align_dx(f32[2, 3, 7, 8], f32[3, 4] in (0, 6), i64[3] in (0, 1), "
                "f32[3, 3, 2, 3], height=2, width=3, samples=2)",
                "roi_align_dx(f64[1, 2, 5, 5], f64[2, 4] in (-2, 9), i32[2] in (0, 0), "
                "f64[2, 2, 2, 2], height=2, width=2, scale=0.5, aligned=false)"},
};
