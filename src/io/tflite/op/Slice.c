/* Slice.c - STRIDED_SLICE and SLICE; where positions depend on values, sizes must not. */
#include "io/tflite/replace.h"

enum { BEGIN_MASK, END_MASK, ELLIPSIS, NEW_AXIS, SHRINK, OFFSET };

typedef struct cut {
    int64_t axes[TAKT_MAX_RANK], start[TAKT_MAX_RANK], stop[TAKT_MAX_RANK], step[TAKT_MAX_RANK];
    size_t count;
    int64_t dims[2 * TAKT_MAX_RANK]; /* of the result; -1: the rest of an axis */
    int rank;
} cut;

static takt_id sliced(takt_tfl_call *c, takt_id x, const cut *v)
{
    if (v->count == 0)
        return x;
    const takt_named_attr attrs[] = {{"axes", takt_attr_i64s(v->axes, v->count)},
                                     {"start", takt_attr_i64s(v->start, v->count)},
                                     {"stop", takt_attr_i64s(v->stop, v->count)},
                                     {"step", takt_attr_i64s(v->step, v->count)}};
    return takt_tfl_op1(c, &takt_op_slice, x, 4, attrs);
}

/* Within the axis; a slice with a negative step may end one before its beginning. */
static int64_t bounded(int64_t at, int64_t size, int64_t low, int64_t high)
{
    at = at < 0 ? at + size : at;
    return at < low ? low : at > high ? high : at;
}

/* Axis `d` of the input by entry `i` of the lists. */
static void cut_axis(takt_tfl_call *c, cut *v, int d, int64_t size, size_t i)
{
    const int64_t begin = takt_tfl_known(c, 1).at[i], end = takt_tfl_known(c, 2).at[i],
                  step = takt_tfl_known(c, 3).at[i];
    const bool is_back = step < 0, is_offset = takt_tfl_u8(c, OFFSET, 0) != 0;
    const int64_t low = is_back ? -1 : 0, high = is_back ? size - 1 : size;
    int64_t start = takt_tfl_i32(c, BEGIN_MASK, 0) >> i & 1 ? (is_back ? high : low)
                                                            : bounded(begin, size, low, high);
    int64_t stop = takt_tfl_i32(c, END_MASK, 0) >> i & 1 ? (is_back ? low : high)
                   : is_offset                           ? bounded(start + end, size, low, high)
                                                         : bounded(end, size, low, high);
    if (step == 0)
        (void)takt_tfl_refuse(c, "a step of 0");
    const bool is_one = (takt_tfl_i32(c, SHRINK, 0) >> i & 1) != 0;
    if (is_one) {
        const int64_t at = begin < 0 ? begin + size : begin;
        if (at < 0 || at >= size)
            (void)takt_tfl_refuse(c, "element %lld of an axis of %lld", (long long)begin,
                                  (long long)size);
        start = at;
        stop = at + 1;
    }
    v->axes[v->count] = d;
    v->start[v->count] = start;
    v->stop[v->count] = stop < 0 ? INT64_MIN + 1 : stop;
    v->step[v->count++] = is_one ? 1 : step;
    if (is_one)
        return;
    const int64_t length = is_back ? (start - stop - step - 1) / -step
                                   : (stop - start + step - 1) / (step != 0 ? step : 1);
    v->dims[v->rank++] = length > 0 ? length : 0;
}

/* Positions of a strided slice that are found at run time: single elements, x[i] or x[:, i], next
 * to whole axes. */
static takt_status elements(takt_tfl_call *c, takt_id x)
{
    const takt_id begin = takt_tfl_need(c, 1);
    const takt_type t = *takt_type_of(c->g, x), tb = *takt_type_of(c->g, begin);
    const int32_t one = takt_tfl_i32(c, SHRINK, 0),
                  whole = takt_tfl_i32(c, BEGIN_MASK, 0) & takt_tfl_i32(c, END_MASK, 0) & ~one,
                  other = takt_tfl_i32(c, NEW_AXIS, 0) | takt_tfl_i32(c, ELLIPSIS, 0);
    const takt_tfl_ints step = takt_tfl_known(c, 3);
    if (!takt_tfl_good(c))
        return c->status;
    if (tb.rank != 1 || tb.dim[0] > t.rank || step.count != (size_t)tb.dim[0] || other != 0)
        return takt_tfl_refuse(c, "positions that depend on values");
    for (int d = (int)tb.dim[0] - 1; d >= 0 && takt_tfl_good(c); d--) {
        if (step.at[d] != 1 || !((one | whole) >> d & 1))
            return takt_tfl_refuse(c, "a size that depends on values");
        if (one >> d & 1)
            x = takt_tfl_gather(c, x,
                                takt_tfl_squeeze(c, takt_slice(c->g, begin, 0, d, d + 1, 1), 0), d);
    }
    return takt_tfl_done(c, x);
}

static takt_status strided(takt_tfl_call *c)
{
    const takt_id x = takt_tfl_need(c, 0);
    const takt_type t = *takt_type_of(c->g, x);
    if (takt_tfl_good(c) && takt_tfl_peek(c, 1) == NULL && takt_tfl_good(c))
        return elements(c, x);
    const takt_tfl_ints begin = takt_tfl_known(c, 1), end = takt_tfl_known(c, 2),
                        step = takt_tfl_known(c, 3);
    const int32_t fresh = takt_tfl_i32(c, NEW_AXIS, 0), dots = takt_tfl_i32(c, ELLIPSIS, 0);
    cut v = {.count = 0};
    int d = 0, real = 0;
    if (!takt_tfl_good(c))
        return c->status;
    if (begin.count != end.count || begin.count != step.count || begin.count > TAKT_MAX_RANK)
        return takt_tfl_refuse(c, "lists of %zu, %zu and %zu", begin.count, end.count, step.count);
    for (size_t i = 0; i < begin.count; i++)
        real += !(fresh >> i & 1) && !(dots >> i & 1);
    if (real > t.rank)
        return takt_tfl_refuse(c, "%d axes of an input with %d", real, t.rank);
    for (size_t i = 0; i < begin.count; i++) {
        if (dots >> i & 1)
            for (int rest = t.rank - real; rest > 0; rest--)
                v.dims[v.rank++] = t.dim[d++];
        else if (fresh >> i & 1)
            v.dims[v.rank++] = 1;
        else if (d < t.rank) {
            cut_axis(c, &v, d, t.dim[d], i);
            d++;
        }
    }
    for (; d < t.rank; d++)
        v.dims[v.rank++] = t.dim[d];
    if (v.rank > TAKT_MAX_RANK)
        return takt_tfl_refuse(c, "a result of %d axes", v.rank);
    return takt_tfl_done(c, takt_tfl_shape(c, sliced(c, x, &v), v.dims, v.rank));
}

/* Positions that are found at run time: one axis at a time. */
static takt_status late(takt_tfl_call *c, takt_id x, const takt_type *t)
{
    const takt_tfl_ints size = takt_tfl_known(c, 2);
    const takt_id begin = takt_tfl_need(c, 1);
    for (int d = 0; d < t->rank && takt_tfl_good(c); d++) {
        if ((size_t)d >= size.count || size.at[d] < 0)
            return takt_tfl_refuse(c, "a size that depends on values");
        if (size.at[d] == t->dim[d])
            continue;
        const takt_id at = takt_tfl_squeeze(c, takt_slice(c->g, begin, 0, d, d + 1, 1), 0);
        const takt_dim dim = size.at[d];
        const takt_named_attr attrs[] = {{"axis", takt_attr_i64(d)},
                                         {"size", takt_attr_shape(&dim, 1)}};
        x = takt_tfl_op2(c, &takt_op_dynamic_slice, x, at, 2, attrs);
    }
    return takt_tfl_done(c, x);
}

static takt_status plain(takt_tfl_call *c)
{
    const takt_id x = takt_tfl_need(c, 0);
    const takt_type t = *takt_type_of(c->g, x);
    const bool is_late = takt_tfl_good(c) && takt_tfl_peek(c, 1) == NULL;
    if ((is_late || (takt_tfl_good(c) && takt_tfl_peek(c, 2) == NULL)) && takt_tfl_is_part(c)) {
        c->scope->values[c->op->outputs[0]].state = TAKT_TFL_PART;
        return TAKT_OK;
    }
    if (is_late && takt_tfl_good(c))
        return late(c, x, &t);
    const takt_tfl_ints begin = takt_tfl_known(c, 1), size = takt_tfl_known(c, 2);
    cut v = {.count = (size_t)t.rank};
    if (!takt_tfl_good(c))
        return c->status;
    if (begin.count != v.count || size.count != v.count)
        return takt_tfl_refuse(c, "lists of %zu and %zu", begin.count, size.count);
    for (size_t d = 0; d < v.count; d++) {
        const int64_t length = size.at[d] < 0 ? t.dim[d] - begin.at[d] : size.at[d];
        if (begin.at[d] < 0 || length < 0 || begin.at[d] > t.dim[d] ||
            length > t.dim[d] - begin.at[d])
            return takt_tfl_refuse(c, "elements %lld to %lld of an axis of %lld",
                                   (long long)begin.at[d], (long long)(begin.at[d] + length),
                                   (long long)t.dim[d]);
        v.axes[d] = (int64_t)d;
        v.start[d] = begin.at[d];
        v.stop[d] = begin.at[d] + length;
        v.step[d] = 1;
    }
    return takt_tfl_done(c, sliced(c, x, &v));
}

static takt_status adapt(takt_tfl_call *c)
{
    return takt_tfl_is(c, "SLICE") ? plain(c) : strided(c);
}

const takt_tflite_op takt_tflite_Slice = {.names = {"STRIDED_SLICE", "SLICE"}, .adapt = adapt};
