/* move.c - ops that move elements: their settings are inputs in ONNX. */
#include "io/onnx/write/emit.h"
#include "op/record/depth_to_space.h"
#include "op/record/trilu.h"

static bool reshape(takt_emit *e, const takt_node *n)
{
    const takt_attr *shape = &n->attr[0];
    const char *to = NULL;
    int64_t dims[TAKT_MAX_RANK];
    size_t named = 0;
    bool has_zero = false;
    for (uint32_t i = 0; i < shape->count; i++) {
        takt_dim d;
        if (takt_dim_resolve(e->root->dims, shape->dims[i], &d) != TAKT_OK)
            d = shape->dims[i];
        dims[i] = takt_dim_is_number(d) ? d : -1;
        named += !takt_dim_is_number(d);
        has_zero = has_zero || d == 0;
    }
    const bool is_found = named > 1 || (named == 1 && has_zero);
    to = is_found ? takt_emit_shape(e, shape->dims, shape->count)
                  : takt_emit_vector(e, dims, shape->count);
    if (is_found || has_zero) /* a size found at run time may be 0, and means 0 */
        takt_emit_i(e, "allowzero", 1);
    takt_emit_2(e, "Reshape", e->out, takt_emit_in(e, 0), to);
    return true;
}

static bool squeeze(takt_emit *e, const takt_node *n)
{
    const takt_attr *axes = &n->attr[0];
    const char *x = takt_emit_in(e, 0);
    if (axes->count == 0) /* to ONNX, a squeeze of no axes is one of all */
        takt_emit_1(e, "Identity", e->out, x);
    else
        takt_emit_2(e, n->op == &takt_op_squeeze ? "Squeeze" : "Unsqueeze", e->out, x,
                    takt_emit_vector(e, axes->i64s, axes->count));
    return true;
}

static bool slice(takt_emit *e, const takt_node *n)
{
    enum { AXES, START, STOP, STEP };
    const takt_attr *a = n->attr;
    const size_t count = a[START].count;
    int64_t axes[TAKT_MAX_RANK], steps[TAKT_MAX_RANK];
    for (size_t i = 0; i < count && i < TAKT_MAX_RANK; i++) {
        axes[i] = i < a[AXES].count ? a[AXES].i64s[i] : (int64_t)i;
        steps[i] = i < a[STEP].count ? a[STEP].i64s[i] : 1;
    }
    const char *in[5] = {takt_emit_in(e, 0), takt_emit_vector(e, a[START].i64s, count),
                         takt_emit_vector(e, a[STOP].i64s, count), takt_emit_vector(e, axes, count),
                         takt_emit_vector(e, steps, count)};
    takt_emit_call(e, "Slice", e->out, 5, in);
    return true;
}

static bool pad(takt_emit *e, const takt_node *n)
{
    enum { BEFORE, AFTER, MODE, VALUE };
    static const char *const modes[] = {"constant", "edge", "reflect", "wrap"};
    const takt_attr *a = n->attr;
    const takt_dtype dtype = n->type[0].dtype;
    takt_dim pads[2 * TAKT_MAX_RANK];
    bool is_negative = false;
    for (uint32_t i = 0; i < a[BEFORE].count; i++) {
        pads[i] = a[BEFORE].i64s[i];
        is_negative = is_negative || pads[i] < 0;
        pads[a[BEFORE].count + i] = i < a[AFTER].count ? a[AFTER].dims[i] : 0;
    }
    if (is_negative)
        return false;
    const char *value = a[MODE].i64 == 0 ? takt_emit_scalar(e, dtype, a[VALUE].f64) : "";
    const char *by = takt_emit_shape(e, pads, 2 * a[BEFORE].count);
    takt_emit_s(e, "mode", modes[a[MODE].i64]);
    takt_emit_3(e, "Pad", e->out, takt_emit_in(e, 0), by, value);
    return true;
}

static bool split(takt_emit *e, const takt_node *n)
{
    enum { AXIS, SIZES };
    const char *in[2] = {takt_emit_in(e, 0),
                         takt_emit_vector(e, n->attr[SIZES].i64s, n->attr[SIZES].count)};
    takt_emit_i(e, "axis", n->attr[AXIS].i64);
    takt_emit_call_many(e, "Split", "", (takt_emit_list){n->out_count, e->outs},
                        (takt_emit_list){2, in});
    return true;
}

static bool iota(takt_emit *e, const takt_node *n)
{
    enum { DTYPE, SHAPE, AXIS };
    const takt_attr *shape = &n->attr[SHAPE];
    const int rank = (int)shape->count;
    const int64_t axis = n->attr[AXIS].i64 + (n->attr[AXIS].i64 < 0 ? rank : 0);
    int64_t ones[TAKT_MAX_RANK];
    for (int i = 0; i < rank; i++)
        ones[i] = i == axis ? -1 : 1;
    const char *end = takt_emit_dim(e, shape->dims[axis], false);
    const char *x = takt_emit_3(e, "Range", takt_emit_fresh(e), takt_emit_number(e, 0), end,
                                takt_emit_number(e, 1));
    x = takt_emit_cast(e, rank == 1 ? e->out : takt_emit_fresh(e), x, n->attr[DTYPE].dtype);
    if (rank == 1)
        return true;
    takt_emit_i(e, "allowzero", 1);
    x = takt_emit_2(e, "Reshape", takt_emit_fresh(e), x, takt_emit_vector(e, ones, (size_t)rank));
    takt_emit_2(e, "Expand", e->out, x, takt_emit_shape(e, shape->dims, shape->count));
    return true;
}

static bool dim(takt_emit *e, const takt_node *n)
{
    const int rank = takt_emit_type(e, 0)->rank;
    const int64_t axis = n->attr[0].i64 + (n->attr[0].i64 < 0 ? rank : 0);
    takt_emit_i(e, "start", axis);
    takt_emit_i(e, "end", axis + 1);
    const char *x = takt_emit_1(e, "Shape", takt_emit_fresh(e), takt_emit_in(e, 0));
    takt_emit_2(e, "Squeeze", e->out, x, takt_emit_vector(e, (int64_t[]){0}, 1));
    return true;
}

static bool blocks(takt_emit *e, const takt_node *n)
{
    takt_emit_i(e, "blocksize", n->attr[0].i64);
    takt_emit_s(e, "mode", n->attr[1].i64 != 0 ? "CRD" : "DCR");
    takt_emit_1(e, "DepthToSpace", e->out, takt_emit_in(e, 0));
    return true;
}

static bool emit(takt_emit *e, const takt_node *n)
{
    const char *x = n->in_count > 0 ? takt_emit_in(e, 0) : "";
    if (n->op == &takt_op_reshape)
        return reshape(e, n);
    if (n->op == &takt_op_squeeze || n->op == &takt_op_unsqueeze)
        return squeeze(e, n);
    if (n->op == &takt_op_slice)
        return slice(e, n);
    if (n->op == &takt_op_pad)
        return pad(e, n);
    if (n->op == &takt_op_split)
        return split(e, n);
    if (n->op == &takt_op_iota)
        return iota(e, n);
    if (n->op == &takt_op_dim)
        return dim(e, n);
    if (n->op == &takt_op_depth_to_space)
        return blocks(e, n);
    if (n->op == &takt_op_broadcast)
        takt_emit_2(e, "Expand", e->out, x, takt_emit_shape(e, n->attr[0].dims, n->attr[0].count));
    if (n->op == &takt_op_tile)
        takt_emit_2(e, "Tile", e->out, x, takt_emit_vector(e, n->attr[0].i64s, n->attr[0].count));
    if (n->op == &takt_op_trilu) {
        takt_emit_i(e, "upper", n->attr[0].boolean);
        takt_emit_2(e, "Trilu", e->out, x, takt_emit_number(e, n->attr[1].i64));
    }
    return true;
}

const takt_emitter takt_emit_op_move = {
    .ops = {&takt_op_reshape, &takt_op_squeeze, &takt_op_unsqueeze, &takt_op_slice, &takt_op_pad,
            &takt_op_split, &takt_op_iota, &takt_op_dim, &takt_op_depth_to_space,
            &takt_op_broadcast, &takt_op_tile, &takt_op_trilu},
    .emit = emit,
};
