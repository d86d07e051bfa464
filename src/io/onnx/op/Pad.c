/* Pad.c - Pad: negative amounts cut. */
#include "io/onnx/lengths.h"

static takt_id cut(takt_call *c, takt_id x, int axis, int64_t before, int64_t after)
{
    const takt_dim size = takt_type_of(c->g, x)->dim[axis];
    const int64_t start = before < 0 ? -before : 0;
    if (takt_dim_is_number(size) && start > size) {
        (void)takt_onnx_refuse(c, "more is cut than there is");
        return TAKT_NONE;
    }
    if (after >= 0)
        return start == 0 ? x : takt_slice(c->g, x, axis, start, INT64_MAX, 1);
    if (takt_dim_is_number(size) && start - after > size) {
        (void)takt_onnx_refuse(c, "more is cut than there is");
        return TAKT_NONE;
    }
    return takt_slice(c->g, x, axis, start, after, 1);
}

static takt_status spread(takt_call *c, int rank, int64_t *before, int64_t *after)
{
    const takt_ints pads = takt_onnx_list(c, c->opset < 2 ? "paddings" : "pads", 1);
    const takt_ints axes = takt_onnx_known_ints(c, 3);
    const size_t count = axes.is_set ? axes.count : (size_t)rank;
    if (c->status == TAKT_OK && pads.count != 2 * count)
        return takt_onnx_refuse(c, "%zu pads for %zu axes", pads.count, count);
    for (size_t i = 0; i < count && c->status == TAKT_OK; i++) {
        const int axis = axes.is_set ? takt_onnx_axis(c, axes.at[i], rank) : (int)i;
        before[axis] = pads.at[i];
        after[axis] = pads.at[count + i];
        if (before[axis] > INT32_MAX || before[axis] < -INT32_MAX || after[axis] > INT32_MAX ||
            after[axis] < -INT32_MAX)
            return takt_onnx_refuse(c, "a pad is out of range");
    }
    return c->status;
}

/* Amounts after an axis may be dimensions; true if they are and everything is known. */
static bool spread_dims(takt_call *c, int rank, int64_t *before, takt_dim *after)
{
    if (c->opset < 11 || takt_onnx_has(c, 3) || takt_onnx_peek(c, 1) != NULL)
        return false;
    const takt_syms pads = takt_onnx_syms(c, 1);
    if (c->status != TAKT_OK || pads.at == NULL || pads.count != 2 * (size_t)rank)
        return false;
    for (int i = 0; i < rank; i++) {
        const takt_sym *a = &pads.at[i], *b = &pads.at[rank + i];
        if (a->is_dim || a->number < 0 || a->number > INT32_MAX || (!b->is_dim && b->number < 0))
            return false;
        before[i] = a->number;
        after[i] = b->is_dim ? b->dim : b->number;
    }
    return true;
}

/* ---- amounts found at run time ---- */

enum { CONSTANT, EDGE, REFLECT, WRAP };

/* Source index of each element of a padded axis of `size`: `at` extends beyond both ends. */
static takt_id source(takt_call *c, takt_id at, takt_id size, int mode)
{
    takt_graph *g = c->g;
    const takt_id zero = takt_scalar_i64(g, 0), one = takt_scalar_i64(g, 1);
    const takt_id last = takt_sub(g, size, one);
    if (mode == WRAP)
        at = takt_onnx_modulo(c, at, takt_binary(g, &takt_op_max, size, one));
    if (mode == REFLECT) {
        const takt_id period = takt_binary(g, &takt_op_max, takt_add(g, last, last), one);
        at = takt_onnx_modulo(c, at, period);
        at = takt_binary(g, &takt_op_min, at, takt_sub(g, period, at));
    }
    return takt_binary(g, &takt_op_max, takt_binary(g, &takt_op_min, at, last), zero);
}

/* How all axes are padded. */
typedef struct padding {
    int mode;
    takt_id value;
} padding;

static takt_id padded(takt_call *c, takt_id x, int axis, takt_id before, takt_dim wide,
                      const padding *p)
{
    takt_graph *g = c->g;
    const takt_type t = *takt_type_of(g, x);
    const takt_id size = takt_onnx_size(c, x, axis);
    const takt_id at = takt_sub(g, takt_onnx_counted(c, wide), before);
    const takt_id y = takt_onnx_gather(c, x, source(c, at, size, p->mode), axis);
    if (p->mode != CONSTANT || y == TAKT_NONE)
        return y;
    takt_dim dims[TAKT_MAX_RANK];
    for (int i = 0; i < t.rank; i++)
        dims[i] = i == axis ? wide : 1;
    const takt_id inside = takt_binary(g, &takt_op_and, takt_onnx_with(c, &takt_op_ge, at, 0),
                                       takt_binary(g, &takt_op_lt, at, size));
    return takt_select(g, takt_reshape(g, inside, dims, (size_t)t.rank), y, p->value);
}

static takt_status by_values(takt_call *c, int mode, takt_id pads, size_t count)
{
    takt_graph *g = c->g;
    takt_id x = takt_onnx_in(c, 0), own[TAKT_MAX_RANK];
    const takt_type t = *takt_onnx_type(c, 0);
    size_t axes = (size_t)t.rank;
    takt_onnx_bound bounds[TAKT_MAX_RANK];
    takt_dim dims[TAKT_MAX_RANK];
    const takt_dim all = t.rank;
    const takt_id which =
        takt_onnx_has(c, 3) ? takt_onnx_vector(c, 3, &axes) : takt_onnx_counted(c, all);
    if (c->status != TAKT_OK || count != 2 * axes || t.rank == 0 || which == TAKT_NONE)
        return takt_onnx_refuse(c, "%zu pads for %zu axes", count, axes);
    const takt_id none = takt_broadcast(g, takt_scalar_i64(g, 0), &all, 1);
    const int64_t half = (int64_t)axes;
    takt_id before = takt_slice(g, pads, 0, 0, half, 1),
            after = takt_slice(g, pads, 0, half, 2 * half, 1);
    before = takt_onnx_spread(c, before, which, axes, t.rank, none);
    after = takt_onnx_spread(c, after, which, axes, t.rank, none);
    takt_id value = takt_scalar_like(g, x, 0);
    if (takt_onnx_has(c, 2))
        value = takt_onnx_shape(c, takt_onnx_cast(c, takt_onnx_in(c, 2), t.dtype), NULL, 0);
    takt_onnx_sizes(c, x, own);
    const takt_id sizes = takt_onnx_pack(c, own, (size_t)t.rank);
    for (int i = 0; i < t.rank; i++)
        bounds[i] = takt_onnx_at_most(TAKT_LENGTH_OPEN);
    takt_onnx_lengths(c, takt_add(g, takt_add(g, sizes, before), after), bounds, (size_t)t.rank,
                      dims);
    for (int i = 0; i < t.rank && c->status == TAKT_OK && x != TAKT_NONE; i++)
        x = padded(c, x, i, takt_onnx_item(c, before, (size_t)i), dims[i], &(padding){mode, value});
    return takt_onnx_done(c, x);
}

/* Whether amounts, axes or the value are neither numbers nor dimensions. */
static bool is_found(takt_call *c)
{
    bool is_open = false;
    for (size_t i = 1; i < 4 && c->opset >= 11 && takt_onnx_may_find(c); i++) {
        if (!takt_onnx_has(c, i) || takt_onnx_peek(c, i) != NULL || c->status != TAKT_OK)
            continue;
        is_open = i == 2 || takt_onnx_peek_syms(c, i).at == NULL || is_open;
    }
    return is_open && c->status == TAKT_OK;
}

static takt_status adapt(takt_call *c)
{
    static const char *const modes[] = {"constant", "edge", "reflect", "wrap", NULL};
    size_t count = 0;
    const takt_id pads = is_found(c) ? takt_onnx_vector(c, 1, &count) : TAKT_NONE;
    if (pads != TAKT_NONE)
        return by_values(c, takt_onnx_choice(c, "mode", "constant", modes), pads, count);
    const int rank = takt_onnx_type(c, 0)->rank;
    int64_t before[TAKT_MAX_RANK] = {0}, after[TAKT_MAX_RANK] = {0};
    takt_dim after_dims[TAKT_MAX_RANK] = {0};
    takt_id x = takt_onnx_in(c, 0);
    const int mode = takt_onnx_choice(c, "mode", "constant", modes);
    const double value =
        takt_onnx_has(c, 2) ? takt_onnx_known_f(c, 2, 0) : takt_onnx_f(c, "value", 0);
    const bool has_dims = spread_dims(c, rank, before, after_dims);
    if (!has_dims)
        TAKT_TRY(spread(c, rank, before, after));
    for (int i = 0; !has_dims && i < rank && x != TAKT_NONE; i++) {
        x = cut(c, x, i, before[i], after[i]);
        before[i] = before[i] < 0 ? 0 : before[i];
        after_dims[i] = after[i] < 0 ? 0 : after[i];
    }
    const takt_named_attr attrs[] = {{"before", takt_attr_i64s(before, (size_t)rank)},
                                     {"after", takt_attr_shape(after_dims, (size_t)rank)},
                                     {"mode", takt_attr_i64(mode)},
                                     {"value", takt_attr_f64(value)}};
    return takt_onnx_done(c, takt_onnx_op1(c, &takt_op_pad, x, 4, attrs));
}

const takt_onnx_op takt_onnx_Pad = {.names = {"Pad"}, .adapt = adapt};
