/* roi.h - the geometry of regions of interest: which elements a bin reads.
 *
 * All in double and in one order, so that the interpreter and the cpu backend give the same bits.
 */
#ifndef TAKT_OP_UTIL_ROI_H
#define TAKT_OP_UTIL_ROI_H

#include "op/ops.h"

enum { TAKT_ROI_AVG, TAKT_ROI_MAX };

typedef struct takt_roi {
    int64_t batch, channels, height, width; /* of x */
    int64_t count, rows, columns;           /* regions, and bins of each */
    int64_t fields;                         /* of a region: 4 for roi_align, 5 for max_roi_pool */
    double scale;                           /* coordinates of regions times this are those of x */
    /* roi_align */
    int64_t mode, samples; /* per bin and axis; 0: as many as it has elements */
    double shift;
} takt_roi;

/* An input: an array of the interpreter, or memory. */
typedef struct takt_roi_source {
    const takt_array *array;
    const void *data;
    takt_dtype dtype;
} takt_roi_source;
double takt_roi_get(const takt_roi_source *s, size_t i);

typedef struct takt_roi_data {
    takt_roi_source x, rois, batch; /* max_roi_pool has the batch in rois */
} takt_roi_data;

/* The image of region `region`; -1 if it does not exist, and then `*given` is the number given. */
int64_t takt_roi_image(const takt_roi *r, const takt_roi_data *d, size_t region, int64_t *given);
/* Element `i` of y, which reads the plane of x that begins at element `plane`. */
double takt_roi_value(const takt_roi *r, const takt_roi_data *d, size_t i, size_t plane);
/* Adds the contribution of dy, the gradient of that element, to the elements of the plane, `to`. */
void takt_roi_spread(const takt_roi *r, const takt_roi_data *d, size_t i, size_t plane, double dy,
                     double *to);

/* ---- the samples of a bin of roi_align, which all channels share ---- */

typedef struct takt_roi_grid {
    double top, left, step_y, step_x;
    int64_t count_y, count_x;
} takt_roi_grid;
takt_roi_grid takt_roi_bin(const takt_roi *r, const takt_roi_data *d, size_t region, size_t bin);
/* What the sum of all samples is divided by. */
double takt_roi_divisor(const takt_roi_grid *g);

/* Four elements of a plane around a position, and their weights; none outside. */
typedef struct takt_roi_taps {
    int count;
    int64_t at[4];
    double weight[4];
} takt_roi_taps;
takt_roi_taps takt_roi_taps_at(const takt_roi *r, const takt_roi_grid *g, int64_t sample);

/* ---- records ---- */

enum {
    TAKT_ROI_ROWS,
    TAKT_ROI_COLUMNS,
    TAKT_ROI_SCALE,
    TAKT_ROI_POOL_ATTRS,
    TAKT_ROI_MODE = TAKT_ROI_POOL_ATTRS,
    TAKT_ROI_SAMPLES,
    TAKT_ROI_ALIGNED,
};
extern const char *const takt_roi_modes[];
#define TAKT_ROI_BIN_ATTRS                                                                         \
    [TAKT_ROI_ROWS] = {.name = "height",                                                           \
                       .type = TAKT_ATTR_I64,                                                      \
                       .fallback.i64 = 1,                                                          \
                       .summary = "rows of bins in each region"},                                  \
    [TAKT_ROI_COLUMNS] = {.name = "width",                                                         \
                          .type = TAKT_ATTR_I64,                                                   \
                          .fallback.i64 = 1,                                                       \
                          .summary = "columns of bins in each region"},                            \
    [TAKT_ROI_SCALE] = {.name = "scale",                                                           \
                        .type = TAKT_ATTR_F64,                                                     \
                        .fallback.f64 = 1,                                                         \
                        .summary = "what coordinates of regions are multiplied by"}
#define TAKT_ROI_ALIGN_ATTRS                                                                       \
    TAKT_ROI_BIN_ATTRS,                                                                            \
        [TAKT_ROI_MODE] = {.name = "mode",                                                         \
                           .type = TAKT_ATTR_ENUM,                                                 \
                           .names = takt_roi_modes,                                                \
                           .summary = "the mean of the samples of a bin, or the largest"},         \
        [TAKT_ROI_SAMPLES] = {.name = "samples",                                                   \
                              .type = TAKT_ATTR_I64,                                               \
                              .summary = "per bin and axis; 0: one for each element of it"},       \
        [TAKT_ROI_ALIGNED] = {.name = "aligned",                                                   \
                              .type = TAKT_ATTR_BOOL,                                              \
                              .fallback.boolean = true,                                            \
                              .summary = "whole coordinates are the centres of elements"}

/* From x, rois and (roi_align) batch: the type of the result. */
TAKT_MUST_USE takt_status takt_roi_infer(takt_infer *in, int64_t fields, takt_type *out);
/* Same for a gradient, whose last input is dy. */
TAKT_MUST_USE takt_status takt_roi_infer_dx(takt_infer *in, int64_t fields);
/* The geometry of a node, from the dimensions of x and rois. */
takt_roi takt_roi_of(const takt_node *n, const int64_t *x, const int64_t *rois);
takt_status takt_roi_eval(takt_eval *e);
takt_status takt_roi_eval_dx(takt_eval *e);

#endif
