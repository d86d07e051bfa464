/* resize.h - parameters of Resize and Upsample along one axis. */
#ifndef TAKT_IO_ONNX_RESIZE_H
#define TAKT_IO_ONNX_RESIZE_H

#include "io/onnx/adapt.h"

enum { TAKT_RESIZE_NEAREST, TAKT_RESIZE_LINEAR, TAKT_RESIZE_CUBIC };
enum {
    TAKT_RESIZE_HALF_PIXEL,
    TAKT_RESIZE_SYMMETRIC,
    TAKT_RESIZE_PYTORCH,
    TAKT_RESIZE_CORNERS,
    TAKT_RESIZE_ASYMMETRIC,
    TAKT_RESIZE_TF_NEAREST,
    TAKT_RESIZE_CROP
};
enum { TAKT_RESIZE_PREFER_FLOOR, TAKT_RESIZE_PREFER_CEIL, TAKT_RESIZE_FLOOR, TAKT_RESIZE_CEIL };
/* Which were given: sizes, scales in f32, or sizes from which one scale was made. */
enum { TAKT_RESIZE_BY_SIZE, TAKT_RESIZE_BY_SCALE, TAKT_RESIZE_BY_PROPORTION };

typedef struct takt_resize {
    int mode, place, nearest;
    bool antialias, exclude_outside;
    int basis;
    double cubic, beyond; /* coefficient a; value outside the picture for CROP */
    double start, end;    /* of the axis, for CROP */
    takt_id from, to;     /* the same as values found at run time, if is_cut */
    bool is_cut;
    double scale; /* NaN: out / in */
    takt_id by;   /* the scale as a value found at run time, if is_found */
    bool is_found;
    takt_dim in, out;
} takt_resize;

/* Positions depend on the length of the result, not only on the scale. */
static inline bool takt_resize_by_length(const takt_resize *r)
{
    return r->place == TAKT_RESIZE_SYMMETRIC || r->place == TAKT_RESIZE_CORNERS ||
           r->place == TAKT_RESIZE_CROP;
}

/* Positions are computed in single precision. */
static inline bool takt_resize_is_single(const takt_resize *r)
{
    return r->basis == TAKT_RESIZE_BY_SCALE && r->mode == TAKT_RESIZE_NEAREST &&
           !takt_resize_by_length(r);
}

/* resize_named.c: where the input or output size is a name. Indices and weights are computed in the
 * same types as here, so the bits equal those of a model with known sizes; with antialias the last
 * ones may differ. */
takt_id takt_resize_named(takt_call *c, takt_id x, const takt_resize *r, int axis);
/* Weighted sums of elements of x: index and weight are [taps, places]. */
takt_id takt_resize_sum(takt_call *c, takt_id x, takt_id index, takt_id weight, int axis);
/* resize_found.c: the part of axis `i` of `count` that CROP takes, from input 1. */
TAKT_MUST_USE takt_status takt_resize_part(takt_call *c, takt_resize *r, size_t i, size_t count);
/* Scales found at run time, TAKT_NONE if they are known or sizes are given; and
 * resizing all axes by them. */
takt_id takt_resize_unknown(takt_call *c);
takt_id takt_resize_found(takt_call *c, takt_id x, const takt_resize *base, takt_id scales);
/* Whether the one scale for all axes, which keeps the proportions, is found at run time because a
 * size is not known. takt_resize_found resizes by it if `scales` is TAKT_NONE. */
bool takt_resize_is_fitted(takt_call *c);
/* floor(d * scale), the product rounded to f32, as a dimension; refuses other scales. */
takt_dim takt_resize_scaled(takt_call *c, takt_dim d, double scale);

#endif
