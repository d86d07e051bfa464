/* Slice.c - Slice: settings are attributes, or inputs from opset 10 on. */
#include "io/onnx/lengths.h"

/* -2^63 means "as far as possible", which our op writes differently. */
static int64_t tame(int64_t v)
{
    return v == INT64_MIN ? INT64_MIN + 1 : v;
}

/* With a negative step, a start before the first element means the first one: ONNX clamps the
 * start, while our op, like Python, takes nothing. */
static int64_t first(takt_call *c, int64_t start, takt_dim size, int64_t step)
{
    const bool is_number = takt_dim_is_number(size);
    if (step > 0 || start >= -1 || size == 0)
        return tame(start);
    if (!is_number && start > -INT32_MAX)
        (void)takt_onnx_refuse_size(c, "a step of %lld from %lld on an axis without a number",
                                    (long long)step, (long long)start);
    return is_number && start >= -size ? start : 0;
}

/* Elements of a vector that was concatenated from scalars, such as a shape: takes these alone, so
 * that nothing depends on the others. TAKT_NONE: not such a vector. */
static takt_id of_scalars(takt_call *c, takt_id x, int64_t start, int64_t stop)
{
    const takt_node *n = x != TAKT_NONE ? takt_node_at(c->g, x) : NULL;
    takt_id in[2 * TAKT_MAX_RANK];
    if (n == NULL || n->op != &takt_op_stack || n->type->rank != 1 ||
        n->in_count > sizeof in / sizeof *in)
        return TAKT_NONE;
    const int64_t size = n->in_count;
    start = start < 0 ? start + size : start;
    stop = stop < 0 ? stop + size : stop;
    start = start < 0 ? 0 : start;
    stop = stop > size ? size : stop;
    if (start >= stop)
        return TAKT_NONE;
    for (int64_t i = start; i < stop; i++)
        in[i - start] = n->in[i];
    return takt_graph_call(c->g, &takt_op_stack, (size_t)(stop - start), in, 0, NULL);
}

/* tf2onnx writes 10^9 for the end of an axis. */
static int64_t last(int64_t stop, takt_dim size)
{
    return stop == 1000000000 && !takt_dim_is_number(size) ? INT64_MAX : tame(stop);
}

/* Start, stop, axis and step of one axis. */
typedef struct parts {
    int64_t *from, *to, *axis, *step;
    size_t count;
} parts;

/* Appends it, unless all of the axis, which has `size` elements or is not there, is kept. */
static void append(parts *k, const int64_t part[4], const takt_dim *size)
{
    const bool is_whole = size != NULL && part[0] == 0 && part[3] == 1 &&
                          (part[1] == INT64_MAX || (takt_dim_is_number(*size) && part[1] >= *size));
    k->from[k->count] = part[0];
    k->to[k->count] = part[1];
    k->axis[k->count] = part[2];
    k->step[k->count] = part[3];
    k->count += !is_whole;
}

static takt_status by_numbers(takt_call *c)
{
    takt_ints start = takt_onnx_list(c, "starts", 1), stop = takt_onnx_list(c, "ends", 2);
    const takt_ints axes = takt_onnx_list(c, "axes", 3);
    const takt_ints step = c->opset >= 10 ? takt_onnx_known_ints(c, 4) : (takt_ints){0};
    parts k = {.from = takt_onnx_get(c, start.count, sizeof *k.from),
               .to = takt_onnx_get(c, start.count, sizeof *k.to),
               .axis = takt_onnx_get(c, start.count, sizeof *k.axis),
               .step = takt_onnx_get(c, start.count, sizeof *k.step)};
    if (c->status != TAKT_OK)
        return c->status;
    if (start.count != stop.count)
        return takt_onnx_refuse(c, "%zu starts and %zu ends", start.count, stop.count);
    const takt_type t = *takt_onnx_type(c, 0);
    const bool fits = (axes.count == 0 || axes.count == start.count) &&
                      (step.count == 0 || step.count == start.count); /* else the op refuses it */
    for (size_t i = 0; i < start.count; i++) {
        const int64_t at = i < axes.count ? axes.at[i] : (int64_t)i;
        const int64_t axis = at < 0 ? at + t.rank : at;
        const bool is_there = axis >= 0 && axis < t.rank;
        const takt_dim size = is_there ? t.dim[axis] : 0;
        const int64_t by = i < step.count ? step.at[i] : 1;
        const int64_t part[4] = {first(c, start.at[i], size, by), last(stop.at[i], size), at, by};
        append(&k, part, is_there && fits ? &size : NULL);
    }
    if (c->status != TAKT_OK)
        return c->status;
    const bool is_axis =
        axes.count == 0 || (axes.count == 1 && (axes.at[0] == 0 || axes.at[0] == -1));
    if (t.rank == 1 && start.count == 1 && is_axis && (step.count == 0 || step.at[0] == 1)) {
        const takt_id some = of_scalars(c, takt_onnx_in(c, 0), k.from[0], k.to[0]);
        if (some != TAKT_NONE)
            return takt_onnx_done(c, some);
    }
    const takt_named_attr attrs[] = {
        {"start", takt_attr_i64s(k.from, k.count)},
        {"stop", takt_attr_i64s(k.to, k.count)},
        {"axes", fits ? takt_attr_i64s(k.axis, k.count) : takt_attr_i64s(axes.at, axes.count)},
        {"step", fits ? takt_attr_i64s(k.step, k.count) : takt_attr_i64s(step.at, step.count)}};
    return takt_onnx_done(c, takt_onnx_op1(c, &takt_op_slice, takt_onnx_in(c, 0), 4, attrs));
}

/* ---- up to a dimension: the first `seq` of a table of positions ---- */

/* 0, 1, … */
static takt_id counted(takt_call *c, takt_dim count)
{
    const takt_named_attr attrs[] = {{"shape", takt_attr_shape(&count, 1)},
                                     {"dtype", takt_attr_dtype(TAKT_I64)}};
    return takt_graph_call(c->g, &takt_op_iota, 0, NULL, 2, attrs);
}

/* A bound as a dimension: negative numbers count from the end, those beyond it mean the end. */
static takt_status bound(takt_call *c, takt_sym v, takt_dim size, takt_dim *out)
{
    *out = v.is_dim ? v.dim : v.number;
    if (v.is_minus)
        return takt_dim_make(c->g->dims, TAKT_DIM_SUB, size, v.dim, out);
    if (v.is_dim)
        return TAKT_OK;
    if (v.number < 0)
        return takt_dim_make(c->g->dims, TAKT_DIM_SUB, size, -tame(v.number), out);
    if (v.number > INT32_MAX || (takt_dim_is_number(size) && v.number > size))
        *out = size;
    return TAKT_OK;
}

/* From start to stop, assuming that the axis has enough elements: ONNX would clip, which later
 * sizes could not express. A run with known sizes clips. */
static takt_id part_of(takt_call *c, takt_id x, int axis, takt_sym start, takt_sym stop)
{
    takt_dim from = 0, to = 0, count = 0;
    const takt_dim size = takt_type_of(c->g, x)->dim[axis];
    takt_status status = bound(c, start, size, &from);
    status = status == TAKT_OK ? bound(c, stop, size, &to) : status;
    if (status == TAKT_OK)
        status = takt_dim_make(c->g->dims, TAKT_DIM_SUB, to, from, &count);
    if (status != TAKT_OK) {
        c->status = c->status == TAKT_OK ? status : c->status;
        return TAKT_NONE;
    }
    if (from == 0 && takt_dim_same(c->g->dims, to, size))
        return x;
    if (c->status == TAKT_OK && from == 0 && c->scope->room == c->im->main)
        c->status = takt_import_needs(c->im, size, to);
    takt_id index = counted(c, count);
    if (from != 0 && takt_dim_is_number(from) && index != TAKT_NONE)
        index = takt_add_scalar(c->g, index, (double)from);
    else if (from != 0)
        index = takt_add(c->g, index,
                         takt_onnx_op1(c, &takt_op_dim, counted(c, from), 1,
                                       &(takt_named_attr){"axis", takt_attr_i64(0)}));
    return takt_onnx_gather(c, x, index, axis);
}

static takt_status by_names(takt_call *c, takt_syms start, takt_syms stop)
{
    const takt_ints axes = takt_onnx_list(c, "axes", 3), step = takt_onnx_known_ints(c, 4);
    takt_id x = takt_onnx_in(c, 0);
    const int rank = takt_onnx_type(c, 0)->rank;
    if (c->status != TAKT_OK)
        return c->status;
    if (start.count != stop.count || (axes.is_set && axes.count != start.count) ||
        (step.is_set && step.count != start.count) || start.count > (size_t)rank)
        return takt_onnx_refuse(c, "%zu starts, %zu ends, %zu axes and %zu steps", start.count,
                                stop.count, axes.count, step.count);
    for (size_t i = 0; i < start.count && x != TAKT_NONE; i++) {
        const int axis = takt_onnx_axis(c, axes.is_set ? axes.at[i] : (int64_t)i, rank);
        const int64_t by = step.is_set ? step.at[i] : 1;
        if (c->status != TAKT_OK)
            return c->status;
        if (!start.at[i].is_dim && !stop.at[i].is_dim)
            x = takt_slice(c->g, x, axis,
                           first(c, start.at[i].number, takt_type_of(c->g, x)->dim[axis], by),
                           tame(stop.at[i].number), by);
        else if (by == 1)
            x = part_of(c, x, axis, start.at[i], stop.at[i]);
        else
            return takt_onnx_refuse_size(c, "a step of %lld up to a dimension without a number",
                                         (long long)by);
    }
    return takt_onnx_done(c, x);
}

/* ---- bounds found at run time ---- */

static takt_id clamped(takt_call *c, takt_id v, takt_id low, takt_id high)
{
    v = takt_binary(c->g, &takt_op_max, v, low);
    return takt_binary(c->g, &takt_op_min, v, high);
}

/* Per axis: its start, and its number of elements. All are vectors. */
static takt_id cut(takt_call *c, takt_id sizes, takt_id start, takt_id stop, takt_id step,
                   takt_id *count)
{
    takt_graph *g = c->g;
    const takt_id zero = takt_scalar_i64(g, 0), one = takt_scalar_i64(g, 1);
    const takt_id back = takt_binary(g, &takt_op_lt, step, zero);
    const takt_id first = takt_select(g, back, takt_scalar_i64(g, -1), zero);
    const takt_id last = takt_select(g, back, takt_sub(g, sizes, one), sizes);
    /* Clamps first: a limit that means "as far as possible" must not overflow. */
    start = clamped(c, start, takt_neg(g, takt_add(g, sizes, one)), takt_add(g, sizes, one));
    stop = clamped(c, stop, takt_neg(g, takt_add(g, sizes, one)), takt_add(g, sizes, one));
    start =
        takt_select(g, takt_binary(g, &takt_op_lt, start, zero), takt_add(g, start, sizes), start);
    stop = takt_select(g, takt_binary(g, &takt_op_lt, stop, zero), takt_add(g, stop, sizes), stop);
    start = clamped(c, start, zero, last);
    stop = clamped(c, stop, first, last);
    const takt_id wide = takt_sub(g, takt_add(g, takt_sub(g, stop, start), step),
                                  takt_select(g, back, takt_scalar_i64(g, -1), one));
    *count = takt_binary(g, &takt_op_max, takt_onnx_floordiv(c, wide, step), zero);
    return start;
}

static takt_id input_or(takt_call *c, size_t i, size_t want, takt_id other)
{
    size_t count = 0;
    if (!takt_onnx_has(c, i))
        return other;
    const takt_id v = takt_onnx_vector(c, i, &count);
    if (v == TAKT_NONE || count != want)
        (void)takt_onnx_refuse(c, "input %zu has %zu elements", i, count);
    return v;
}

/* Whether axis `i` is sliced, as far as is known. */
static bool is_cut(takt_call *c, int i, int rank, size_t count)
{
    const takt_array *axes = takt_onnx_has(c, 3) ? takt_onnx_peek(c, 3) : NULL;
    if (!takt_onnx_has(c, 3))
        return (size_t)i < count;
    bool is_one = axes == NULL || axes->i == NULL;
    for (size_t k = 0; !is_one && k < axes->count; k++)
        is_one = axes->i[k] == i || axes->i[k] + rank == i;
    return is_one;
}

/* The value before changes of shape. */
static takt_id bare(const takt_graph *g, takt_id id)
{
    while (g->nodes[id].op == &takt_op_reshape || g->nodes[id].op == &takt_op_squeeze ||
           g->nodes[id].op == &takt_op_unsqueeze)
        id = g->nodes[id].in[0];
    return id;
}

/* "from i to i + k" along one axis, whatever i is: returns k, the maximum length; else -1. */
static int64_t longest(takt_call *c, size_t count)
{
    const takt_array *step = takt_onnx_has(c, 4) ? takt_onnx_peek(c, 4) : NULL, *by;
    const int64_t *one = step != NULL ? takt_array_one(step) : NULL;
    if (count != 1 || (takt_onnx_has(c, 4) && (one == NULL || *one != 1)) || c->status != TAKT_OK)
        return -1;
    const takt_id start = bare(c->g, takt_onnx_in(c, 1)), stop = bare(c->g, takt_onnx_in(c, 2));
    if (c->g->nodes[stop].op != &takt_op_add)
        return -1;
    for (int side = 0; side < 2; side++) {
        const takt_id *in = c->g->nodes[stop].in;
        if (bare(c->g, in[side]) != start)
            continue;
        c->status = takt_fold_known(c->scope->room, in[1 - side], &by);
        const int64_t *k = c->status == TAKT_OK ? takt_array_one(by) : NULL;
        return k != NULL && *k > 0 && *k <= INT32_MAX ? *k : -1;
    }
    return -1;
}

/* The maximum number of elements in a part of an axis. */
static takt_onnx_bound most_of(takt_call *c, takt_dim size, int64_t part)
{
    if (part >= 0 && c->status == TAKT_OK)
        c->status = takt_dim_make(c->g->dims, TAKT_DIM_MIN, size, part, &size);
    return takt_onnx_at_most(size);
}

static takt_id along_axes(takt_call *c, takt_id x, takt_id start, takt_id step, takt_id n,
                          size_t count)
{
    takt_graph *g = c->g;
    const takt_type t = *takt_type_of(g, x);
    takt_onnx_bound bounds[TAKT_MAX_RANK];
    takt_dim dims[TAKT_MAX_RANK];
    takt_id many[TAKT_MAX_RANK];
    size_t open = 0, at = 0;
    const int64_t part = longest(c, count);
    for (int i = 0; i < t.rank; i++)
        if (is_cut(c, i, t.rank, count)) {
            bounds[open] = most_of(c, t.dim[i], part);
            many[open++] = takt_onnx_item(c, n, (size_t)i);
        }
    if (open > 0)
        takt_onnx_lengths(c, takt_onnx_pack(c, many, open), bounds, open, dims);
    for (int i = 0; i < t.rank && c->status == TAKT_OK && x != TAKT_NONE; i++) {
        if (!is_cut(c, i, t.rank, count))
            continue;
        const takt_id place =
            takt_mul(g, takt_onnx_counted(c, dims[at++]), takt_onnx_item(c, step, (size_t)i));
        x = takt_onnx_gather(c, x, takt_add(g, place, takt_onnx_item(c, start, (size_t)i)), i);
    }
    return x;
}

static takt_status by_values(takt_call *c)
{
    takt_graph *g = c->g;
    takt_id x = takt_onnx_in(c, 0), own[TAKT_MAX_RANK], start, stop, step, n = TAKT_NONE;
    const takt_type t = *takt_onnx_type(c, 0);
    size_t count = 0;
    start = takt_onnx_vector(c, 1, &count);
    if (c->status != TAKT_OK || start == TAKT_NONE || t.rank == 0)
        return takt_onnx_refuse(c, "starts are not a list");
    takt_onnx_sizes(c, x, own);
    const takt_id sizes = takt_onnx_pack(c, own, (size_t)t.rank);
    const takt_dim many = (takt_dim)count, all = t.rank;
    const takt_id ones = takt_broadcast(g, takt_scalar_i64(g, 1), &many, 1);
    stop = input_or(c, 2, count, TAKT_NONE);
    step = input_or(c, 4, count, ones);
    const takt_id axes = input_or(c, 3, count, takt_onnx_counted(c, many));
    const takt_id zeros = takt_broadcast(g, takt_scalar_i64(g, 0), &all, 1);
    const takt_id every = takt_broadcast(g, takt_scalar_i64(g, 1), &all, 1);
    start = takt_onnx_spread(c, start, axes, count, t.rank, zeros);
    stop = takt_onnx_spread(c, stop, axes, count, t.rank, sizes);
    step = takt_onnx_spread(c, step, axes, count, t.rank, every);
    start = cut(c, sizes, start, stop, step, &n);
    return takt_onnx_done(c, along_axes(c, x, start, step, n, count));
}

/* Whether a setting is neither a number nor a dimension. */
static bool is_found(takt_call *c)
{
    bool is_open = false;
    for (size_t i = 1; i < 5 && takt_onnx_may_find(c); i++) {
        if (takt_onnx_has(c, i))
            is_open = takt_onnx_peek_syms(c, i).at == NULL || is_open;
    }
    return is_open && c->status == TAKT_OK;
}

static takt_status adapt(takt_call *c)
{
    if (c->opset >= 10 && takt_onnx_has(c, 1) && takt_onnx_has(c, 2) && is_found(c))
        return by_values(c);
    const bool is_new = c->opset >= 10 && takt_onnx_has(c, 1) && takt_onnx_has(c, 2);
    if (!is_new || (takt_onnx_peek(c, 1) != NULL && takt_onnx_peek(c, 2) != NULL))
        return by_numbers(c);
    const takt_syms start = takt_onnx_signed(c, 1), stop = takt_onnx_signed(c, 2);
    return c->status != TAKT_OK ? c->status : by_names(c, start, stop);
}

const takt_onnx_op takt_onnx_Slice = {.names = {"Slice"}, .adapt = adapt};
