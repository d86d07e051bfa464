/* Pad.c - Pad: negative amounts cut. */
#include "io/onnx/adapt.h"

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

/* Amounts after an axis may be dimensions; true if they are and all is told. */
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

static takt_status adapt(takt_call *c)
{
    static const char *const modes[] = {"constant", "edge", "reflect", "wrap", NULL};
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
