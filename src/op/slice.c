/* slice.c - every step-th element of some axes from start up to, not including, stop.
 *
 * Numbers work as in Python: negative ones count from the end, those beyond it are clamped. A stop
 * of 2^63 - 1 means "to the end", or with a negative step -2^63 + 1 "to the beginning inclusive".
 * On a named axis the size is an expression that assumes that the axis is long enough for start and
 * for the part cut off.
 */
#include "op/util/bound.h"
#include "op/util/check.h"
#include "op/util/index.h"
#include "op/util/make.h"
#include "op/util/stops.h"

enum { AXES, START, STOP, STEP };

/* ---- start and count of one axis ---- */

typedef struct range {
    int64_t start, stop, step;
} range;

/* Entry for `axis`, or the whole of it. */
static range given(const takt_attr *attr, int rank, int axis)
{
    range r = {0, INT64_MAX, 1};
    for (uint32_t i = 0; i < attr[START].count; i++) {
        const int64_t at = attr[AXES].count == 0 ? (int64_t)i : attr[AXES].i64s[i];
        if (at != axis && at + rank != axis)
            continue;
        r.start = attr[START].i64s[i];
        r.stop = attr[STOP].i64s[i];
        r.step = attr[STEP].count == 0 ? 1 : attr[STEP].i64s[i];
    }
    return r;
}

static int64_t clamp(int64_t v, int64_t low, int64_t high)
{
    return v < low ? low : v > high ? high : v;
}

/* Python's rule for a known size: first element and count. */
static void resolve(range r, int64_t size, int64_t *first, int64_t *count)
{
    const int64_t low = r.step > 0 ? 0 : -1, high = r.step > 0 ? size : size - 1;
    const int64_t start = clamp(r.start < 0 ? r.start + size : r.start, low, high);
    const int64_t stop =
        clamp(r.stop < 0 ? (r.stop < -size ? -1 : r.stop + size) : r.stop, low, high);
    *first = start;
    if (r.step > 0)
        *count = stop > start ? (stop - start - 1) / r.step + 1 : 0;
    else
        *count = start > stop ? (start - stop - 1) / -r.step + 1 : 0;
}

/* ---- inference ---- */

/* Beyond any axis: exporters write the extreme integers for the ends of the axis. */
enum { FAR = INT32_MAX };

static takt_status bound(takt_infer *in, int64_t v, takt_dim size, takt_dim *out)
{
    if (v >= FAR)
        *out = size;
    else if (v == 1)
        *out = 1; /* a name is assumed to be at least 1 */
    else if (v >= 0)
        return takt_dim_make(in->dims, TAKT_DIM_MIN, v, size, out);
    else
        return takt_dim_make(in->dims, TAKT_DIM_SUB, size, -v, out);
    return TAKT_OK;
}

/* Empty, for any size. */
static bool is_empty(range r)
{
    const bool is_same_end = (r.start < 0) == (r.stop < 0);
    if (r.step > 0)
        return (is_same_end && r.stop <= r.start) || r.start >= FAR || r.stop <= -FAR;
    return is_same_end && r.stop >= r.start;
}

/* Elements from the start of a negative step down to the first one, at most all. */
static takt_status below(takt_infer *in, int64_t start, takt_dim size, takt_dim *out)
{
    if (start == -1 || start >= FAR)
        *out = size;
    else if (start < 0)
        return takt_dim_make(in->dims, TAKT_DIM_SUB, size, -1 - start, out);
    else
        return takt_dim_make(in->dims, TAKT_DIM_MIN, start + 1, size, out);
    return TAKT_OK;
}

static takt_status backwards(takt_infer *in, range r, takt_dim size, takt_dim *span)
{
    if (r.stop <= -FAR)
        return below(in, r.start, size, span);
    if (r.stop < 0 && r.start >= 0 && r.start < FAR) {
        takt_fail(in->ctx, TAKT_E_ATTR,
                  "slice: on an axis without a number a negative step from element %lld "
                  "cannot stop at one counted from the end, %lld",
                  (long long)r.start, (long long)r.stop);
        return takt_fail_hint(in->ctx, "give the dimension a number with --shape or -D");
    }
    TAKT_TRY(below(in, r.start, size, span));
    if (r.stop >= 0)
        return takt_dim_make(in->dims, TAKT_DIM_SUB, *span, r.stop + 1, span);
    const int64_t most = (r.start < 0 ? r.start : -1) - r.stop;
    return takt_dim_make(in->dims, TAKT_DIM_MIN, most, *span, span);
}

static takt_status forwards(takt_infer *in, range r, takt_dim size, takt_dim *span)
{
    takt_dim start = 0, stop = 0;
    if (r.start >= 0)
        start = r.start; /* the axis is assumed to be that long */
    else if (r.start > -FAR)
        TAKT_TRY(bound(in, r.start, size, &start));
    TAKT_TRY(bound(in, r.stop, size, &stop));
    return takt_dim_make(in->dims, TAKT_DIM_SUB, stop, start, span);
}

static takt_status named(takt_infer *in, range r, takt_dim size, takt_dim *out)
{
    takt_dim span = 0;
    if (is_empty(r)) {
        *out = 0;
        return TAKT_OK;
    }
    TAKT_TRY(r.step > 0 ? forwards(in, r, size, &span) : backwards(in, r, size, &span));
    return takt_dim_make(in->dims, TAKT_DIM_CEILDIV, span, r.step > 0 ? r.step : -r.step, out);
}

static takt_status check(takt_infer *in)
{
    const takt_type *x = in->type[0];
    const uint32_t count = in->attr[START].count;
    bool seen[TAKT_MAX_RANK] = {0};
    if (in->attr[STOP].count != count)
        return takt_fail(in->ctx, TAKT_E_ATTR, "slice: start has %u entries, stop has %u", count,
                         in->attr[STOP].count);
    TAKT_TRY(takt_check_list(in, AXES, (int)count, "starts"));
    TAKT_TRY(takt_check_list(in, STEP, (int)count, "starts"));
    if (in->attr[AXES].count == 0 && count > (uint32_t)x->rank)
        return takt_fail(in->ctx, TAKT_E_ATTR, "slice: start has %u entries for %d axes", count,
                         x->rank);
    TAKT_TRY(takt_infer_axes(in, &in->attr[AXES], x->rank, seen));
    for (uint32_t i = 0; i < in->attr[STEP].count; i++)
        if (in->attr[STEP].i64s[i] == 0 || in->attr[STEP].i64s[i] == INT64_MIN)
            return takt_fail(in->ctx, TAKT_E_ATTR, "slice: step may not be %lld",
                             (long long)in->attr[STEP].i64s[i]);
    for (uint32_t i = 0; i < count; i++)
        if (in->attr[START].i64s[i] == INT64_MIN || in->attr[STOP].i64s[i] == INT64_MIN)
            return takt_fail(in->ctx, TAKT_E_ATTR, "slice: start and stop may not be -2^63");
    return TAKT_OK;
}

static takt_status infer(takt_infer *in)
{
    TAKT_TRY(check(in));
    const takt_type *x = in->type[0];
    in->out[0] = *x;
    for (int axis = 0; axis < x->rank; axis++) {
        const range r = given(in->attr, x->rank, axis);
        int64_t first = 0;
        if (r.start == 0 && r.stop == INT64_MAX && r.step == 1)
            continue;
        if (takt_dim_is_number(x->dim[axis]))
            resolve(r, x->dim[axis], &first, &in->out[0].dim[axis]);
        else
            TAKT_TRY(named(in, r, x->dim[axis], &in->out[0].dim[axis]));
    }
    return TAKT_OK;
}

static takt_status eval(takt_eval *e)
{
    const takt_array *x = &e->in[0];
    takt_array *out = &e->out[0];
    int64_t to[TAKT_MAX_RANK], from[TAKT_MAX_RANK], first[TAKT_MAX_RANK] = {0};
    int64_t step[TAKT_MAX_RANK] = {0}, count = 0;
    for (int d = 0; d < x->rank; d++) {
        const range r = given(e->attr, x->rank, d);
        step[d] = r.step;
        resolve(r, x->dim[d], &first[d], &count);
        if (count != out->dim[d])
            return takt_fail(e->ctx, TAKT_E_SHAPE,
                             "slice: axis %d has %lld elements, too few for "
                             "start %lld and stop %lld",
                             d, (long long)x->dim[d], (long long)r.start, (long long)r.stop);
    }
    for (size_t i = 0; i < out->count && !takt_eval_stops(e, 1); i++) {
        takt_index_at(out, i, to);
        for (int d = 0; d < x->rank; d++)
            from[d] = first[d] + to[d] * step[d];
        takt_index_move(out, i, x, takt_index_flat(x, from));
    }
    return TAKT_OK;
}

/* ---- gradient ---- */

/* The type of x with every axis from `axis` on as in the result: gradients are widened axis by
 * axis, so that each needs one simple step. */
static takt_id widen_by_pad(takt_graph *g, takt_id dy, int axis, int64_t first, takt_dim size)
{
    const takt_type *t = takt_type_of(g, dy);
    int64_t before[TAKT_MAX_RANK] = {0};
    takt_dim after[TAKT_MAX_RANK] = {0};
    before[axis] = first;
    after[axis] =
        takt_make_dim(g, TAKT_DIM_SUB, size, takt_make_dim(g, TAKT_DIM_ADD, t->dim[axis], first));
    const takt_named_attr attrs[] = {{"before", takt_attr_i64s(before, (size_t)t->rank)},
                                     {"after", takt_attr_shape(after, (size_t)t->rank)}};
    return takt_graph_call(g, &takt_op_pad, 1, &dy, 2, attrs);
}

/* Any start and step: add rows at start, start + step, … */
static takt_id widen_by_index(takt_graph *g, takt_id dy, int axis, range r, takt_dim size)
{
    takt_type wide = *takt_type_of(g, dy);
    const takt_dim rows = wide.dim[axis];
    wide.dim[axis] = size;
    int64_t first = r.start, count = 0;
    if (takt_dim_is_number(size))
        resolve(r, size, &first, &count);
    else if (r.step < 0 && r.start >= FAR)
        first = -1;
    const takt_id line = takt_make_iota(g, &rows, 1, 0);
    const takt_id index =
        takt_add(g, takt_mul(g, line, takt_scalar_i64(g, r.step)), takt_scalar_i64(g, first));
    const takt_id zeros =
        takt_broadcast(g, takt_scalar_like(g, dy, 0), wide.dim, (size_t)wide.rank);
    return takt_make_axis(g, &takt_op_index_add, 3, (takt_id[]){zeros, index, dy}, axis);
}

static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_node n = *takt_node_at(g, id);
    const takt_type *x = takt_type_of(g, n.in[0]);
    takt_id d = dy[0];
    for (int axis = 0; axis < x->rank && d != TAKT_NONE; axis++) {
        range r = given(n.attr, x->rank, axis);
        int64_t count = 0;
        if (n.type[0].dim[axis] == x->dim[axis] && r.step == 1)
            continue;
        if (r.step == 1 && takt_dim_is_number(x->dim[axis]))
            resolve(r, x->dim[axis], &r.start, &count);
        d = r.step == 1 && r.start >= 0 ? widen_by_pad(g, d, axis, r.start, x->dim[axis])
                                        : widen_by_index(g, d, axis, r, x->dim[axis]);
    }
    dx[0] = d;
}

const takt_op takt_op_slice = {
    .name = "slice",
    .summary = "every step-th element of some axes from start up to stop",
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .attrs = {[AXES] = {.name = "axes",
                        .type = TAKT_ATTR_I64S,
                        .summary = "axes concerned; the leading ones if empty"},
              [START] = {.name = "start",
                         .type = TAKT_ATTR_I64S,
                         .is_required = true,
                         .summary = "first element; negative counts from the end"},
              [STOP] = {.name = "stop",
                        .type = TAKT_ATTR_I64S,
                        .is_required = true,
                        .summary = "the element before which to stop"},
              [STEP] = {.name = "step",
                        .type = TAKT_ATTR_I64S,
                        .summary = "distance of elements; may be negative; ones if empty"}},
    .traits = TAKT_PRIMITIVE | TAKT_VIEW,
    .dtypes = TAKT_ANY,
    .infer = infer,
    .eval = eval,
    .grad = grad,
    .bound = takt_bound_exact,
    .affine = 1,
    .samples = {"slice(f32[5, 4], start=[1], stop=[4])",
                "slice(f32[5, 4], axes=[-1], start=[-3], stop=[-1])",
                "slice(f64[7, 3], axes=[0, 1], start=[6, 0], stop=[-99, 2], step=[-2, 1])",
                "slice(i32[9], start=[1], stop=[9223372036854775807], step=[3])",
                "slice(f32[4], start=[3], stop=[1])"},
};
