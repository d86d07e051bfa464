/* pad.c - adds elements before and after each axis.
 *
 * `before` has numbers; `after` may have names, as the gradient of a slice of a named axis needs.
 * Negative padding is not allowed: use slice.
 */
#include "op/util/amp.h"
#include "op/util/bound.h"
#include "op/util/check.h"
#include "op/util/index.h"
#include "op/util/make.h"
#include "op/util/stops.h"

enum { BEFORE, AFTER, MODE, VALUE };
enum { CONSTANT, EDGE, REFLECT, WRAP };

static const char *const modes[] = {"constant", "edge", "reflect", "wrap", NULL};

/* Modes that copy need something to copy: reflect needs one more element than it copies. */
static takt_status check_mode(takt_infer *in, int axis, takt_dim size, takt_dim after)
{
    const int64_t mode = in->attr[MODE].i64, before = in->attr[BEFORE].i64s[axis];
    if (mode == CONSTANT || !takt_dim_is_number(size) || (before == 0 && after == 0))
        return TAKT_OK;
    const int64_t most = mode == EDGE   ? (size > 0 ? INT64_MAX : 0)
                         : mode == WRAP ? size
                         : size > 0     ? size - 1
                                        : 0;
    if (before <= most && (!takt_dim_is_number(after) || after <= most))
        return TAKT_OK;
    char type[TAKT_TYPE_TEXT];
    return takt_fail(in->ctx, TAKT_E_ATTR,
                     "pad: mode %s cannot pad axis %d of %s by more than %lld", modes[mode], axis,
                     takt_type_text(in->dims, in->type[0], type), (long long)most);
}

static takt_status infer(takt_infer *in)
{
    const takt_type *x = in->type[0];
    if (in->attr[BEFORE].count != (uint32_t)x->rank || in->attr[AFTER].count != (uint32_t)x->rank)
        return takt_fail(in->ctx, TAKT_E_ATTR,
                         "pad: before has %u entries and after %u, but there "
                         "are %d axes",
                         in->attr[BEFORE].count, in->attr[AFTER].count, x->rank);
    TAKT_TRY(takt_check_range(in, BEFORE, 0, INT64_MAX));
    in->out[0] = *x;
    for (int i = 0; i < x->rank; i++) {
        takt_dim *d = &in->out[0].dim[i];
        TAKT_TRY(check_mode(in, i, x->dim[i], in->attr[AFTER].dims[i]));
        TAKT_TRY(takt_dim_make(in->dims, TAKT_DIM_ADD, *d, in->attr[BEFORE].i64s[i], d));
        TAKT_TRY(takt_dim_make(in->dims, TAKT_DIM_ADD, *d, in->attr[AFTER].dims[i], d));
    }
    return TAKT_OK;
}

/* The source of an element outside x. */
static int64_t fold(int64_t mode, int64_t i, int64_t size)
{
    if (mode == EDGE)
        return i < 0 ? 0 : size - 1;
    if (mode == WRAP)
        return i < 0 ? i + size : i - size;
    return i < 0 ? -i : 2 * (size - 1) - i;
}

static takt_status eval(takt_eval *e)
{
    const takt_array *x = &e->in[0];
    takt_array *out = &e->out[0];
    const int64_t mode = e->attr[MODE].i64;
    int64_t at[TAKT_MAX_RANK];
    for (size_t i = 0; i < out->count && !takt_eval_stops(e, 1); i++) {
        bool outside = false;
        takt_index_at(out, i, at);
        for (int d = 0; d < x->rank; d++) {
            at[d] -= e->attr[BEFORE].i64s[d];
            const bool is_beyond = at[d] < 0 || at[d] >= x->dim[d];
            outside = outside || is_beyond;
            if (is_beyond && mode != CONSTANT)
                at[d] = fold(mode, at[d], x->dim[d]);
            if (mode != CONSTANT && (at[d] < 0 || at[d] >= x->dim[d]))
                return takt_fail(e->ctx, TAKT_E_SHAPE,
                                 "pad: mode %s pads axis %d of size %lld by "
                                 "too much",
                                 modes[mode], d, (long long)x->dim[d]);
        }
        if (!outside || mode != CONSTANT)
            takt_index_move(out, i, x, takt_index_flat(x, at));
        else if (takt_dtype_is_float(out->dtype))
            out->f[i] = e->attr[VALUE].f64;
        else
            out->i[i] = takt_dtype_from_double(out->dtype, e->attr[VALUE].f64);
    }
    return TAKT_OK;
}

/* dx along one axis for a copying mode: every element of dy is added at its source. The source of
 * each position is computed with integers, so it works for axes without a number. */
static takt_id fold_axis(takt_graph *g, const takt_node *n, takt_id dy, int axis)
{
    const takt_type *x = takt_type_of(g, n->in[0]);
    takt_type narrow = *takt_type_of(g, dy);
    const takt_dim rows = narrow.dim[axis];
    narrow.dim[axis] = x->dim[axis];
    const takt_id zero = takt_scalar_i64(g, 0), one = takt_scalar_i64(g, 1);
    const takt_id size = takt_make_axis(g, &takt_op_dim, 1, &n->in[0], axis);
    const takt_id line =
        takt_sub(g, takt_make_iota(g, &rows, 1, 0), takt_scalar_i64(g, n->attr[BEFORE].i64s[axis]));
    const takt_id last = takt_sub(g, size, one);
    takt_id index = TAKT_NONE;
    if (n->attr[MODE].i64 == EDGE) {
        index = takt_binary(g, &takt_op_min, takt_binary(g, &takt_op_max, line, zero), last);
    } else if (n->attr[MODE].i64 == WRAP) {
        index = takt_binary(g, &takt_op_mod, line, size);
    } else { /* |i| on the left, last - |last - i| on the right: the same formula twice */
        const takt_id left = takt_unary(g, &takt_op_abs, line);
        index = takt_sub(g, last, takt_unary(g, &takt_op_abs, takt_sub(g, last, left)));
    }
    const takt_id zeros =
        takt_broadcast(g, takt_scalar_like(g, dy, 0), narrow.dim, (size_t)narrow.rank);
    return takt_make_axis(g, &takt_op_index_add, 3, (takt_id[]){zeros, index, dy}, axis);
}

/* dx along one axis for constants: the part of dy in between. */
static takt_id cut_axis(takt_graph *g, const takt_node *n, takt_id dy, int axis)
{
    const int64_t before = n->attr[BEFORE].i64s[axis];
    const takt_dim after = n->attr[AFTER].dims[axis];
    if (takt_dim_is_number(after))
        return takt_slice(g, dy, axis, before, after == 0 ? INT64_MAX : -after, 1);
    const takt_dim size = takt_type_of(g, n->in[0])->dim[axis];
    const takt_named_attr attrs[] = {{"axis", takt_attr_i64(axis)},
                                     {"size", takt_attr_shape(&size, 1)}};
    const takt_id in[2] = {dy, takt_scalar_i64(g, before)};
    return takt_graph_call(g, &takt_op_dynamic_slice, 2, in, 2, attrs);
}

static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_node n = *takt_node_at(g, id);
    takt_id d = dy[0];
    for (int axis = 0; axis < n.type[0].rank && d != TAKT_NONE; axis++) {
        if (n.attr[BEFORE].i64s[axis] == 0 && n.attr[AFTER].dims[axis] == 0)
            continue;
        d = n.attr[MODE].i64 == CONSTANT ? cut_axis(g, &n, d, axis) : fold_axis(g, &n, d, axis);
    }
    dx[0] = d;
}

const takt_op takt_op_pad = {
    .name = "pad",
    .summary = "elements added before and after each axis",
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .attrs = {[BEFORE] = {.name = "before",
                          .type = TAKT_ATTR_I64S,
                          .is_required = true,
                          .summary = "how many before each axis"},
              [AFTER] = {.name = "after",
                         .type = TAKT_ATTR_SHAPE,
                         .is_required = true,
                         .summary = "how many after each axis"},
              [MODE] = {.name = "mode",
                        .type = TAKT_ATTR_ENUM,
                        .names = modes,
                        .summary = "what they are: value, the edge, a reflection, or the far end"},
              [VALUE] = {.name = "value",
                         .type = TAKT_ATTR_F64,
                         .summary = "the element for mode constant"}},
    .traits = TAKT_PRIMITIVE | TAKT_AMP_CHOOSES,
    .dtypes = TAKT_COMPUTE,
    .infer = infer,
    .eval = eval,
    .grad = grad,
    .bound = takt_bound_exact,
    .affine = 1,
    .samples = {"pad(f32[2, 3], before=[1, 0], after=[0, 2])",
                "pad(f32[3, 4], before=[1, 2], after=[2, 1], mode=reflect)",
                "pad(f64[3], before=[3], after=[2], mode=wrap)",
                "pad(f32[2, 1, 2], before=[0, 2, 0], after=[3, 1, 0], mode=edge)",
                "pad(i8[2, 2], before=[1, 1], after=[1, 1], value=-7)"},
};
