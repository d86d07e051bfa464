/* roi_record.c - inference and evaluation shared by the ops on regions of interest. */
#include "op/util/check.h"
#include "op/util/roi.h"
#include "op/util/stops.h"

takt_status takt_roi_infer(takt_infer *in, int64_t fields, takt_type *out)
{
    const takt_type *x = in->type[0], *rois = in->type[1];
    char type[TAKT_TYPE_TEXT];
    TAKT_TRY(takt_infer_rank(in, 0, 4, 4));
    TAKT_TRY(takt_infer_rank(in, 1, 2, 2));
    TAKT_TRY(takt_infer_dtype(in, 0, TAKT_FLOATS, "a float"));
    TAKT_TRY(takt_check_same_dtype(in, 0, 1));
    TAKT_TRY(takt_check_range(in, TAKT_ROI_ROWS, 1, TAKT_CHECK_BIG));
    TAKT_TRY(takt_check_range(in, TAKT_ROI_COLUMNS, 1, TAKT_CHECK_BIG));
    if (rois->dim[1] != fields)
        return takt_fail(in->ctx, TAKT_E_SHAPE, "%s: rois is %s; each has %lld numbers",
                         in->op->name, takt_type_text(in->dims, rois, type), (long long)fields);
    *out = (takt_type){.dtype = x->dtype,
                       .rank = 4,
                       .dim = {rois->dim[0], x->dim[1], in->attr[TAKT_ROI_ROWS].i64,
                               in->attr[TAKT_ROI_COLUMNS].i64}};
    if (fields == 5)
        return TAKT_OK;
    TAKT_TRY(takt_check_range(in, TAKT_ROI_SAMPLES, 0, 4096));
    TAKT_TRY(takt_check_index(in, 2));
    return takt_infer_vector(in, 2, rois->dim[0]);
}

takt_status takt_roi_infer_dx(takt_infer *in, int64_t fields)
{
    takt_type y;
    const size_t last = in->in_count - 1;
    TAKT_TRY(takt_roi_infer(in, fields, &y));
    TAKT_TRY(takt_check_same_dtype(in, 0, last));
    TAKT_TRY(takt_check_shape(in, last, &y, "a bin for every region and channel"));
    in->out[0] = *in->type[0];
    return TAKT_OK;
}

takt_roi takt_roi_of(const takt_node *n, const int64_t *x, const int64_t *rois)
{
    takt_roi r = {.batch = x[0],
                  .channels = x[1],
                  .height = x[2],
                  .width = x[3],
                  .count = rois[0],
                  .fields = rois[1],
                  .rows = n->attr[TAKT_ROI_ROWS].i64,
                  .columns = n->attr[TAKT_ROI_COLUMNS].i64,
                  .scale = n->attr[TAKT_ROI_SCALE].f64};
    if (r.fields == 4) {
        r.mode = n->attr[TAKT_ROI_MODE].i64;
        r.samples = n->attr[TAKT_ROI_SAMPLES].i64;
        r.shift = n->attr[TAKT_ROI_ALIGNED].boolean ? 0.5 : 0;
    }
    return r;
}

/* Every element of y: forward into out[0], or (with `dy`) backward into the planes of out[0]. */
static takt_status run(takt_eval *e, const takt_array *dy)
{
    const takt_roi r = takt_roi_of(e->node, e->in[0].dim, e->in[1].dim);
    const takt_roi_data d = {
        .x.array = &e->in[0], .rois.array = &e->in[1], .batch.array = &e->in[2]};
    const size_t bins = (size_t)(r.rows * r.columns), channels = (size_t)r.channels;
    const size_t count = dy != NULL ? dy->count : e->out[0].count;
    for (size_t i = 0; i < count && !takt_eval_stops(e, 64); i++) {
        int64_t given;
        const size_t region = i / bins / channels;
        const int64_t image = takt_roi_image(&r, &d, region, &given);
        if (image < 0)
            return takt_fail(e->ctx, TAKT_E_INDEX, "%s: region %zu is of image %lld of %lld",
                             e->node->op->name, region, (long long)given, (long long)r.batch);
        const size_t plane =
            ((size_t)image * channels + i / bins % channels) * (size_t)(r.height * r.width);
        if (dy != NULL)
            takt_roi_spread(&r, &d, i, plane, dy->f[i], e->out[0].f + plane);
        else
            e->out[0].f[i] = takt_roi_value(&r, &d, i, plane);
    }
    return TAKT_OK;
}

takt_status takt_roi_eval(takt_eval *e)
{
    return run(e, NULL);
}

takt_status takt_roi_eval_dx(takt_eval *e)
{
    return run(e, &e->in[e->in_count - 1]);
}
