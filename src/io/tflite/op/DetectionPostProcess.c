/* DetectionPostProcess.c - the custom operator TFLite_Detection_PostProcess: boxes around anchors,
 * the best class of each, and the best of overlapping boxes. */
#include <math.h>

#include "io/tflite/flex.h"
#include "io/tflite/quant.h"
#include "io/tflite/suppress.h"

static double option(takt_tfl_call *c, const char *key, bool is_needed)
{
    double value = 0;
    if (!takt_flex_number(c->op->custom, key, &value) && is_needed)
        (void)takt_tfl_refuse(c, "option %s is missing", key);
    return value;
}

static takt_id as_floats(takt_tfl_call *c, size_t i)
{
    const takt_id x = takt_tfl_need(c, i);
    return x == TAKT_NONE || takt_dtype_is_float(takt_type_of(c->g, x)->dtype)
               ? x
               : takt_tfl_dequantise(c, x, takt_tfl_tensor_in(c, i));
}

/* Column `k` in doubles. */
static takt_id column(takt_tfl_call *c, takt_id x, int64_t k)
{
    return takt_tfl_cast(c, takt_tfl_edge(c, x, k), TAKT_F64);
}

/* Centre and size relative to an anchor's, to corners: [n, 4]. */
static takt_id corners(takt_tfl_call *c, takt_id code, takt_id anchors)
{
    static const char *const keys[] = {"y_scale", "x_scale", "h_scale", "w_scale"};
    takt_graph *g = c->g;
    takt_id edge[4];
    for (int64_t k = 0; k < 2; k++) {
        const double scale = option(c, keys[k], true), size = option(c, keys[k + 2], true);
        if (!(scale > 0) || !(size > 0))
            (void)takt_tfl_refuse(c, "scales of %g and %g", scale, size);
        const takt_id at = column(c, code, k), wide = column(c, code, k + 2);
        if (!takt_tfl_good(c) || at == TAKT_NONE || wide == TAKT_NONE)
            return TAKT_NONE;
        const takt_id part = takt_div(g, at, takt_scalar_like(g, at, scale));
        const takt_id middle = takt_tfl_cast(
            c, takt_add(g, takt_mul(g, part, column(c, anchors, k + 2)), column(c, anchors, k)),
            TAKT_F32);
        const takt_id grown =
            takt_unary(g, &takt_op_exp, takt_div(g, wide, takt_scalar_like(g, wide, size)));
        const takt_id half =
            takt_tfl_cast(c,
                          takt_mul(g, takt_mul(g, takt_scalar_like(g, grown, 0.5), grown),
                                   column(c, anchors, k + 2)),
                          TAKT_F32);
        edge[k] = takt_sub(g, middle, half);
        edge[k + 2] = takt_add(g, middle, half);
    }
    const takt_named_attr axis = {"axis", takt_attr_i64(1)};
    return takt_tfl_good(c) ? takt_graph_call(g, &takt_op_stack, 4, edge, 1, &axis) : TAKT_NONE;
}

static takt_status results(takt_tfl_call *c, const takt_tfl_chosen *r, takt_id boxes,
                           takt_id classes, int64_t most)
{
    takt_graph *g = c->g;
    const int64_t first = 0;
    const takt_id none = takt_tfl_number(c, TAKT_F32, 0);
    const takt_id box = takt_select(g, takt_tfl_unsqueeze(c, r->is_there, 1),
                                    takt_tfl_gather(c, boxes, r->index, 0), none);
    const takt_id class = takt_select(
        g, r->is_there, takt_tfl_cast(c, takt_tfl_gather(c, classes, r->index, 0), TAKT_F32), none);
    const takt_id score = takt_select(g, r->is_there, r->score, none);
    const takt_id count = takt_reduce_over(
        g, &takt_op_reduce_sum, takt_tfl_cast(c, r->is_there, TAKT_F32), &first, 1, true);
    takt_tfl_set(c, 0, takt_tfl_shape(c, box, (int64_t[]){1, most, 4}, 3));
    takt_tfl_set(c, 1, takt_tfl_shape(c, class, (int64_t[]){1, most}, 2));
    takt_tfl_set(c, 2, takt_tfl_shape(c, score, (int64_t[]){1, most}, 2));
    takt_tfl_set(c, 3, count);
    return c->status;
}

static takt_status adapt(takt_tfl_call *c)
{
    takt_graph *g = c->g;
    const takt_id code = as_floats(c, 0), scores = as_floats(c, 1), anchors = as_floats(c, 2);
    const double most = option(c, "max_detections", true), classes = option(c, "num_classes", true),
                 least = option(c, "nms_score_threshold", true);
    if (option(c, "use_regular_nms", false) != 0 ||
        option(c, "max_classes_per_detection", true) != 1)
        (void)takt_tfl_refuse(c, "boxes of each class by themselves");
    if (!takt_tfl_good(c))
        return c->status;
    const takt_type tb = *takt_type_of(g, code), ts = *takt_type_of(g, scores);
    if (tb.rank != 3 || ts.rank != 3 || tb.dim[0] != 1 || ts.dim[0] != 1 || tb.dim[2] < 4 ||
        tb.dim[1] != ts.dim[1] || tb.dim[1] < 1 || !(most >= 1) || most > 1 << 16 ||
        !(classes >= 1) || classes > (double)ts.dim[2] || c->op->output_count != 4)
        return takt_tfl_refuse(c, "boxes, scores and anchors that do not fit");
    const int64_t n = tb.dim[1], wide = ts.dim[2], skip = wide - (int64_t)classes, last = 1;
    const takt_id flat =
        takt_slice(g, takt_tfl_shape(c, scores, (int64_t[]){n, wide}, 2), 1, skip, wide, 1);
    const takt_id boxes =
        corners(c, takt_tfl_shape(c, code, (int64_t[]){n, tb.dim[2]}, 2), anchors);
    const takt_named_attr axis = {"axis", takt_attr_i64(1)};
    const takt_id class = takt_tfl_op1(c, &takt_op_argmax, flat, 1, &axis);
    const takt_id best = takt_reduce_over(g, &takt_op_reduce_max, flat, &last, 1, false);
    if (best == TAKT_NONE || boxes == TAKT_NONE || class == TAKT_NONE)
        return takt_tfl_refuse(c, "boxes that cannot be chosen");
    const takt_id counts = takt_binary(g, &takt_op_ge, best, takt_scalar_like(g, best, least));
    const takt_tfl_suppress s = {
        .boxes = boxes,
        .scores = takt_select(g, counts, best, takt_scalar_like(g, best, -INFINITY)),
        .n = n,
        .most = (int64_t)most,
        .overlap = option(c, "nms_iou_threshold", true),
        .is_strict = true};
    const takt_tfl_chosen r = takt_tfl_suppressed(c, &s);
    return r.index == TAKT_NONE ? takt_tfl_refuse(c, "boxes that cannot be chosen")
                                : results(c, &r, boxes, class, s.most);
}

const takt_tflite_op takt_tflite_DetectionPostProcess = {
    .names = {"TFLite_Detection_PostProcess"}, .is_custom = true, .adapt = adapt};
