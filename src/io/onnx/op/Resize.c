/* Resize.c - Resize and Upsample: each axis becomes weighted sums of gathered elements. */
#include <math.h>
#include <string.h>

#include "io/onnx/resize.h"

/* Computed in f32 and in this order, as other runtimes do: a single rounding decides whether the
 * last element is on the border or beyond it, where the value differs. */
static double position_in_crop(const takt_resize *r, double x, double last)
{
    const float start = (float)r->start, end = (float)r->end, wide = (float)(r->in - 1);
    if (last <= 0)
        return (double)(0.5F * (start + end) * wide);
    return (double)(start * wide + (float)x * (end - start) * wide / (float)last);
}

/* Sizes are given: x * in / out has one rounding, so that ties are exact. */
static double position_by_size(const takt_resize *r, double x)
{
    const double in = (double)r->in, out = (double)r->out;
    switch (r->place) {
    case TAKT_RESIZE_PYTORCH: return r->out > 1 ? (x + 0.5) * in / out - 0.5 : 0;
    case TAKT_RESIZE_CORNERS: return r->out > 1 ? x * (in - 1) / (out - 1) : 0;
    case TAKT_RESIZE_ASYMMETRIC: return x * in / out;
    case TAKT_RESIZE_TF_NEAREST: return (x + 0.5) * in / out;
    case TAKT_RESIZE_CROP: return position_in_crop(r, x, out - 1);
    default: return (x + 0.5) * in / out - 0.5;
    }
}

/* Nearest by a scale in f32: 4/3 in f32 is slightly more than 4/3, and only a quotient that is also
 * rounded maps result 4 to element 3, not before it. With element centres positions can be exactly
 * halfway, so there a scale that equals the quotient of the sizes is replaced by it. */
static double position_single(const takt_resize *r, double x)
{
    const float scale = (float)r->scale;
    if (r->place == TAKT_RESIZE_ASYMMETRIC)
        return (double)((float)x / scale);
    if ((float)r->out / (float)r->in == scale)
        return position_by_size(r, x);
    const float at = ((float)x + 0.5F) / scale;
    if (r->place == TAKT_RESIZE_PYTORCH && r->out <= 1)
        return 0;
    return (double)(r->place == TAKT_RESIZE_TF_NEAREST ? at : at - 0.5F);
}

/* A scale that equals the quotient of the sizes in f32 is replaced by that quotient. With more
 * digits, 5 * 1.4 is not quite 7, and the last element would be beyond the border. */
static bool means_sizes(const takt_resize *r)
{
    return r->basis == TAKT_RESIZE_BY_SIZE ||
           (r->basis == TAKT_RESIZE_BY_SCALE && takt_resize_by_length(r) &&
            (float)r->out / (float)r->in == (float)r->scale);
}

static double position(const takt_resize *r, double x)
{
    /* The size before truncation to an integer. */
    const double in = (double)r->in, out = r->scale * in;
    if (means_sizes(r))
        return position_by_size(r, x);
    if (takt_resize_is_single(r))
        return position_single(r, x);
    switch (r->place) {
    case TAKT_RESIZE_SYMMETRIC: {
        const double part = (double)r->out / out;
        return in / 2 * (1 - part) + (x + 0.5) / r->scale - 0.5;
    }
    case TAKT_RESIZE_PYTORCH: return r->out > 1 ? (x + 0.5) / r->scale - 0.5 : 0;
    case TAKT_RESIZE_CORNERS: return r->out > 1 ? x * (in - 1) / (out - 1) : 0;
    case TAKT_RESIZE_ASYMMETRIC: return x / r->scale;
    case TAKT_RESIZE_TF_NEAREST: return (x + 0.5) / r->scale;
    case TAKT_RESIZE_CROP: return position_in_crop(r, x, out - 1);
    default: return (x + 0.5) / r->scale - 0.5;
    }
}

/* An integer number of elements, or one beyond any border. */
static int64_t whole(double x)
{
    return (int64_t)fmax(-0x1p62, fmin(x, 0x1p62));
}

static int64_t nearest(const takt_resize *r, double x)
{
    switch (r->nearest) {
    case TAKT_RESIZE_PREFER_CEIL: return whole(floor(x + 0.5));
    case TAKT_RESIZE_FLOOR: return whole(floor(x));
    case TAKT_RESIZE_CEIL: return whole(ceil(x));
    default: return whole(ceil(x - 0.5));
    }
}

static double kernel(const takt_resize *r, double d)
{
    const double a = r->cubic, x = fabs(d);
    if (r->mode == TAKT_RESIZE_LINEAR)
        return x < 1 ? 1 - x : 0;
    if (x <= 1)
        return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/* First tap relative to the element below, and the number of taps. */
static void reach(const takt_resize *r, int64_t *first, int64_t *count)
{
    const double half = r->mode == TAKT_RESIZE_LINEAR ? 1 : 2;
    const double scale = r->antialias && r->scale < 1 ? r->scale : 1;
    *first = (int64_t)floor(-half / scale) + 1;
    *count = 2 - 2 * *first;
}

static void tap_row(const takt_resize *r, int64_t o, int64_t first, int64_t count, int64_t *index,
                    double *weight)
{
    const double scale = r->antialias && r->scale < 1 ? r->scale : 1;
    const double x = position(r, (double)o);
    const double base = x == floor(x) ? x - 1 : floor(x);
    double sum = 0;
    for (int64_t k = 0; k < count; k++) {
        const int64_t at = whole(base) + first + k;
        double w = kernel(r, scale * ((double)(first + k) - (x - base)));
        if (r->exclude_outside && (at < 0 || at >= r->in))
            w = 0;
        index[k * r->out + o] = at < 0 ? 0 : at >= r->in ? r->in - 1 : at;
        weight[k * r->out + o] = w;
        sum += w;
    }
    for (int64_t k = 0; k < count && (r->antialias || r->exclude_outside) && sum != 0; k++)
        weight[k * r->out + o] /= sum;
}

/* The elements that each result sums: `count` per result, all first ones first. */
typedef struct table {
    int64_t count, *index;
    double *weight;
} table;
static takt_id summed(takt_call *c, takt_id x, const takt_resize *r, int axis, const table *t)
{
    const int64_t dims[2] = {t->count, r->out};
    const takt_dtype dtype = takt_type_of(c->g, x)->dtype;
    takt_id at = takt_onnx_i64s(c, t->index, (size_t)(t->count * r->out));
    at = at == TAKT_NONE ? at : takt_reshape(c->g, at, dims, 2);
    return takt_resize_sum(c, x, at, takt_onnx_floats(c, dtype, t->weight, dims, 2), axis);
}

/* Rows whose position is outside the image become one value. */
static takt_id crop(takt_call *c, takt_id y, const takt_resize *r, int axis)
{
    double *out = takt_onnx_get(c, (size_t)r->out, sizeof *out);
    int64_t dims[TAKT_MAX_RANK];
    if (r->place != TAKT_RESIZE_CROP || out == NULL || y == TAKT_NONE)
        return y;
    const takt_type t = *takt_type_of(c->g, y);
    for (int i = 0; i < t.rank; i++)
        dims[i] = i == axis ? r->out : 1;
    for (int64_t o = 0; o < r->out; o++) {
        const double x = position(r, (double)o);
        out[o] = x < 0 || x > (double)(r->in - 1);
    }
    const takt_id mask = takt_onnx_floats(c, TAKT_BOOL, out, dims, t.rank);
    return takt_select(c->g, mask, takt_onnx_scalar(c, t.dtype, r->beyond), y);
}

static takt_id along(takt_call *c, takt_id x, const takt_resize *r, int axis)
{
    int64_t first = 0, count = 1;
    if (r->mode != TAKT_RESIZE_NEAREST)
        reach(r, &first, &count);
    int64_t *index = takt_onnx_get(c, (size_t)(count * r->out), sizeof *index);
    double *weight = takt_onnx_get(c, (size_t)(count * r->out), sizeof *weight);
    if (index == NULL || weight == NULL)
        return TAKT_NONE;
    for (int64_t o = 0; o < r->out; o++) {
        if (r->mode != TAKT_RESIZE_NEAREST) {
            tap_row(r, o, first, count, index, weight);
            continue;
        }
        const int64_t at = nearest(r, position(r, (double)o));
        index[o] = at < 0 ? 0 : at >= r->in ? r->in - 1 : at;
    }
    const takt_id y = r->mode != TAKT_RESIZE_NEAREST
                          ? summed(c, x, r, axis, &(table){count, index, weight})
                          : takt_onnx_gather(c, x, takt_onnx_i64s(c, index, (size_t)r->out), axis);
    return crop(c, y, r, axis);
}

/* ---- settings ---- */

typedef struct plan {
    takt_resize base;
    double scale[TAKT_MAX_RANK];
    takt_dim size[TAKT_MAX_RANK];
    bool has_sizes; /* else sizes follow from the scales */
    bool is_resized[TAKT_MAX_RANK];
} plan;

static takt_status read_modes(takt_call *c, takt_resize *r)
{
    static const char *const modes[] = {"nearest", "linear", "cubic", "bilinear", NULL};
    static const char *const places[] = {
        "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
        "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize", NULL};
    static const char *const rounds[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil",
                                         NULL};
    const bool is_old = c->opset < 11 || takt_span_is(c->node->op, "Upsample");
    r->mode = takt_onnx_choice(c, "mode", "nearest", modes);
    r->mode = r->mode == 3 ? TAKT_RESIZE_LINEAR : r->mode;
    r->place = is_old ? TAKT_RESIZE_ASYMMETRIC
                      : takt_onnx_choice(c, "coordinate_transformation_mode", "half_pixel", places);
    r->nearest = is_old ? TAKT_RESIZE_FLOOR
                        : takt_onnx_choice(c, "nearest_mode", "round_prefer_floor", rounds);
    r->antialias = takt_onnx_i(c, "antialias", 0) != 0;
    r->exclude_outside = takt_onnx_i(c, "exclude_outside", 0) != 0;
    r->cubic = takt_onnx_f(c, "cubic_coeff_a", -0.75);
    r->beyond = takt_onnx_f(c, "extrapolation_value", 0);
    return c->status;
}

/* One scale for all axes, so that the picture keeps its proportions; all sizes are numbers. */
static takt_status keep_aspect(takt_call *c, plan *p, const takt_type *t)
{
    static const char *const ways[] = {"stretch", "not_larger", "not_smaller", NULL};
    const int way = takt_onnx_choice(c, "keep_aspect_ratio_policy", "stretch", ways);
    double best = way == 1 ? INFINITY : 0;
    if (way != 0)
        p->base.basis = TAKT_RESIZE_BY_PROPORTION;
    for (int i = 0; i < t->rank && way != 0; i++) {
        if (p->is_resized[i])
            best = way == 1 ? fmin(best, p->scale[i]) : fmax(best, p->scale[i]);
    }
    for (int i = 0; i < t->rank && way != 0; i++)
        if (p->is_resized[i]) {
            const double size = floor(best * (double)t->dim[i] + 0.5);
            if (!(size >= 0 && size <= INT32_MAX))
                return takt_onnx_refuse(c, "a scale of %g", best);
            p->scale[i] = best;
            p->size[i] = (int64_t)size;
        }
    return c->status;
}

/* The source of the numbers: an old attribute, or one of two inputs. */
typedef struct given {
    const takt_pb_attr *old;
    const takt_array *scales;
    const takt_dim *sizes;
    size_t count;
} given;

static takt_status find_given(takt_call *c, given *g)
{
    const bool is_up = takt_span_is(c->node->op, "Upsample");
    const size_t at = is_up || c->opset < 11 ? 1 : 2;
    *g = (given){.old = takt_onnx_attr(c, "scales")};
    if (g->old != NULL) {
        g->count = g->old->float_count;
    } else if (takt_onnx_has(c, at) && takt_onnx_type(c, at)->dim[0] != 0) {
        g->scales = takt_onnx_known_floats(c, at);
        g->count = g->scales != NULL ? g->scales->count : 0;
    } else {
        if (takt_onnx_has(c, 3) && takt_dtype_is_float(takt_onnx_type(c, 3)->dtype))
            return takt_onnx_refuse(c, "sizes that are not integers");
        g->sizes = takt_onnx_dims(c, 3, &g->count);
    }
    return c->status;
}

/* The scale from `in` to `out`: NaN if it depends on a name. */
static double scale_to(takt_call *c, takt_dim in, takt_dim out)
{
    if (takt_dim_is_number(in) && takt_dim_is_number(out))
        return (double)out / (double)in;
    return takt_dim_same(c->g->dims, in, out) ? 1 : NAN;
}

static takt_status read_sizes(takt_call *c, plan *p, const takt_type *t)
{
    given g;
    const takt_ints axes = takt_onnx_ints(c, "axes");
    const size_t count = axes.is_set ? axes.count : (size_t)t->rank;
    TAKT_TRY(find_given(c, &g));
    if (g.count != count)
        return takt_onnx_refuse(c, "%zu sizes for %zu axes", g.count, count);
    p->has_sizes = g.sizes != NULL;
    p->base.basis = p->has_sizes ? TAKT_RESIZE_BY_SIZE : TAKT_RESIZE_BY_SCALE;
    for (size_t i = 0; i < count; i++) {
        const int axis = axes.is_set ? takt_onnx_axis(c, axes.at[i], t->rank) : (int)i;
        p->is_resized[axis] = true;
        p->size[axis] = g.sizes != NULL ? g.sizes[i] : 0;
        p->scale[axis] = g.old != NULL      ? (double)g.old->floats[i]
                         : g.scales != NULL ? g.scales->f[i]
                                            : scale_to(c, t->dim[axis], g.sizes[i]);
    }
    return p->has_sizes ? keep_aspect(c, p, t) : c->status;
}

/* The size of the result along an axis. */
static takt_dim size_of(takt_call *c, const plan *p, const takt_resize *r, int axis)
{
    if (p->has_sizes)
        return p->size[axis];
    if (!takt_dim_is_number(r->in))
        return takt_resize_scaled(c, r->in, r->scale);
    /* The product of two f32, rounded, as ONNX infers shapes: 9 by 17/9 is 17, not 16. */
    const float wide = (float)r->in * (float)r->scale;
    if (wide >= 0 && wide < 0x1p31F)
        return (takt_dim)floorf(wide);
    (void)takt_onnx_refuse(c, "a scale of %g", r->scale);
    return 0;
}

static takt_id apply_to(takt_call *c, takt_id x, takt_resize *r, int axis)
{
    const bool is_number = takt_dim_is_number(r->in) && takt_dim_is_number(r->out);
    if ((takt_dim_same(c->g->dims, r->in, r->out) && r->scale == 1) &&
        (r->place != TAKT_RESIZE_CROP || (!r->is_cut && r->start == 0 && r->end == 1)))
        return x;
    if (!is_number || r->is_cut)
        return takt_resize_named(c, x, r, axis);
    const bool is_wide = r->antialias && r->scale < 1e-6; /* mean over too many elements */
    if (!(r->scale > 0) || isinf(r->scale) || r->out > INT32_MAX || r->in < 1 || is_wide) {
        (void)takt_onnx_refuse(c, "a scale of %g", r->scale);
        return TAKT_NONE;
    }
    return along(c, x, r, axis);
}

static takt_id apply(takt_call *c, const plan *p, takt_id x, const takt_type *t)
{
    const takt_ints axes = takt_onnx_ints(c, "axes");
    const size_t count = axes.is_set ? axes.count : (size_t)t->rank;
    for (size_t i = 0; i < count && x != TAKT_NONE; i++) {
        const int axis = axes.is_set ? takt_onnx_axis(c, axes.at[i], t->rank) : (int)i;
        takt_resize r = p->base;
        r.in = t->dim[axis];
        r.scale = p->scale[axis];
        /* Resize 10 does not specify it; its exporters took the next lower element. */
        if (c->opset == 10 && r.scale < 1)
            r.nearest = TAKT_RESIZE_CEIL;
        if (r.scale == 1 && !p->has_sizes && p->base.place != TAKT_RESIZE_CROP)
            continue;
        r.out = size_of(c, p, &r, axis);
        if (c->status != TAKT_OK || takt_resize_part(c, &r, i, count) != TAKT_OK)
            return TAKT_NONE;
        x = apply_to(c, x, &r, axis);
    }
    return x;
}

/* Means over a window are rounded. Other values between two integers are truncated, as other
 * runtimes do; a value that is an integer up to the rounding of its weights stays that integer, so
 * that an area of one colour keeps it. */
static takt_id whole_numbers(takt_call *c, takt_id x, takt_dtype dtype, bool antialias)
{
    if (x == TAKT_NONE)
        return x;
    if (antialias)
        x = takt_unary(c->g, &takt_op_round, x);
    else if (takt_dtype_bits(dtype) <= 16)
        x = takt_mul_scalar(c->g, x, 1 + 0x1p-20);
    return takt_onnx_cast(c, x, dtype);
}

static takt_status adapt(takt_call *c)
{
    plan p = {0};
    const takt_type t = *takt_onnx_type(c, 0);
    takt_id x = takt_onnx_in(c, 0);
    TAKT_TRY(read_modes(c, &p.base));
    const takt_id found = takt_resize_unknown(c);
    const bool is_open = found != TAKT_NONE || takt_resize_is_fitted(c);
    TAKT_TRY(is_open ? c->status : read_sizes(c, &p, &t));
    const bool is_float = takt_dtype_is_float(t.dtype) || p.base.mode == TAKT_RESIZE_NEAREST;
    x = is_float ? x : takt_onnx_cast(c, x, TAKT_F32);
    x = is_open ? takt_resize_found(c, x, &p.base, found) : apply(c, &p, x, &t);
    return takt_onnx_done(c, is_float ? x : whole_numbers(c, x, t.dtype, p.base.antialias));
}

const takt_onnx_op takt_onnx_Resize = {.names = {"Resize", "Upsample"}, .adapt = adapt};
