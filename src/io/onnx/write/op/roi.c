/* roi.c - regions of images. */
#include "op/util/roi.h"
#include "io/onnx/write/emit.h"

/* ONNX supports three element types here, and scales in f32. */
static bool is_said(const takt_node *n)
{
    const double scale = n->attr[TAKT_ROI_SCALE].f64;
    return n->type[0].dtype != TAKT_BF16 && (double)(float)scale == scale;
}

static bool emit(takt_emit *e, const takt_node *n)
{
    const takt_attr *a = n->attr;
    if (!is_said(n))
        return false;
    if (n->op == &takt_op_max_roi_pool) {
        const int64_t shape[] = {a[TAKT_ROI_ROWS].i64, a[TAKT_ROI_COLUMNS].i64};
        takt_emit_ints(e, "pooled_shape", shape, 2);
        takt_emit_f(e, "spatial_scale", a[TAKT_ROI_SCALE].f64);
        takt_emit_2(e, "MaxRoiPool", e->out, takt_emit_in(e, 0), takt_emit_in(e, 1));
        return true;
    }
    const char *batch = takt_emit_in(e, 2);
    if (takt_emit_type(e, 2)->dtype != TAKT_I64)
        batch = takt_emit_cast(e, takt_emit_fresh(e), batch, TAKT_I64);
    takt_emit_i(e, "output_height", a[TAKT_ROI_ROWS].i64);
    takt_emit_i(e, "output_width", a[TAKT_ROI_COLUMNS].i64);
    takt_emit_f(e, "spatial_scale", a[TAKT_ROI_SCALE].f64);
    takt_emit_i(e, "sampling_ratio", a[TAKT_ROI_SAMPLES].i64);
    takt_emit_s(e, "mode", a[TAKT_ROI_MODE].i64 == TAKT_ROI_MAX ? "max" : "avg");
    takt_emit_s(e, "coordinate_transformation_mode",
                a[TAKT_ROI_ALIGNED].boolean ? "half_pixel" : "output_half_pixel");
    takt_emit_3(e, "RoiAlign", e->out, takt_emit_in(e, 0), takt_emit_in(e, 1), batch);
    return true;
}

const takt_emitter takt_emit_op_roi = {
    .ops = {&takt_op_roi_align, &takt_op_max_roi_pool},
    .emit = emit,
};
