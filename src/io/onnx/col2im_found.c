/* col2im_found.c - Col2Im whose picture and windows a run finds: the indices are nodes. */
#include "io/onnx/control.h"
#include "io/onnx/lengths.h"
#include "io/onnx/spatial.h"

/* i64 scalars per axis: size of the image, size of a window, number of windows. */
typedef struct work {
    takt_call *c;
    takt_graph *g;
    takt_spatial s; /* strides, dilations and pads */
    takt_id image[TAKT_ONNX_SPATIAL], block[TAKT_ONNX_SPATIAL], out[TAKT_ONNX_SPATIAL];
    takt_dim picture[TAKT_MAX_RANK]; /* of the result */
    takt_dim elements;               /* of a window */
} work;

static takt_id product(const work *w, const takt_id *factors)
{
    takt_id all = factors[0];
    for (size_t i = 1; i < w->s.count; i++)
        all = takt_mul(w->g, all, factors[i]);
    return all;
}

/* Windows along axis `i`: 0 if the picture is smaller than one. */
static takt_id windows(const work *w, size_t i)
{
    const takt_spatial *s = &w->s;
    takt_id reach = takt_onnx_with(w->c, &takt_op_sub, w->block[i], 1);
    reach = takt_onnx_with(w->c, &takt_op_mul, reach, s->dilation[i]);
    reach = takt_onnx_with(w->c, &takt_op_add, reach, 1 - s->pad[i] - s->pad[s->count + i]);
    const takt_id room = takt_sub(w->g, w->image[i], reach);
    const takt_id count = takt_onnx_floordiv(w->c, room, takt_scalar_i64(w->g, s->stride[i]));
    return takt_onnx_with(w->c, &takt_op_max, takt_onnx_with(w->c, &takt_op_add, count, 1), 0);
}

/* 0, 1, … along one axis of a matrix. */
static takt_id line(const work *w, takt_dim count, int axis)
{
    const takt_dim dims[2] = {axis == 0 ? count : 1, axis == 1 ? count : 1};
    const takt_id all = takt_onnx_counted(w->c, count);
    return all == TAKT_NONE ? all : takt_reshape(w->g, all, dims, 2);
}

/* The index of each element of each window in the flat image, [elements, windows]; indices in the
 * padding are after the last pixel. */
static takt_id places(const work *w, takt_dim positions)
{
    takt_call *c = w->c;
    takt_graph *g = w->g;
    const takt_spatial *s = &w->s;
    takt_id e = line(w, w->elements, 0), p = line(w, positions, 1), flat = TAKT_NONE;
    takt_id inside = takt_onnx_scalar(c, TAKT_BOOL, 1), factor = takt_scalar_i64(g, 1);
    for (size_t k = s->count; k-- > 0 && c->status == TAKT_OK;) {
        const takt_id sizes[2] = {takt_onnx_with(c, &takt_op_max, w->out[k], 1),
                                  takt_onnx_with(c, &takt_op_max, w->block[k], 1)};
        takt_id at =
            takt_onnx_with(c, &takt_op_mul, takt_onnx_modulo(c, p, sizes[0]), s->stride[k]);
        const takt_id tap = takt_onnx_modulo(c, e, sizes[1]);
        at = takt_add(g, at, takt_onnx_with(c, &takt_op_mul, tap, s->dilation[k]));
        at = takt_onnx_with(c, &takt_op_sub, at, s->pad[k]);
        p = takt_onnx_floordiv(c, p, sizes[0]);
        e = takt_onnx_floordiv(c, e, sizes[1]);
        const takt_id below = takt_binary(g, &takt_op_lt, at, w->image[k]);
        inside = takt_binary(g, &takt_op_and, inside, below);
        inside = takt_binary(g, &takt_op_and, inside, takt_onnx_with(c, &takt_op_ge, at, 0));
        const takt_id part = takt_mul(g, at, factor);
        flat = flat == TAKT_NONE ? part : takt_add(g, flat, part);
        factor = takt_mul(g, factor, w->image[k]);
    }
    return takt_select(g, inside, flat, factor);
}

/* Sizes from values, and that they fit the columns: `t` is [N, C * elements, windows]. */
static takt_status find_sizes(work *w, takt_id image, takt_id block, const takt_type *t)
{
    takt_call *c = w->c;
    takt_onnx_bound bounds[TAKT_ONNX_SPATIAL];
    takt_dim found[2];
    for (size_t i = 0; i < w->s.count; i++) {
        w->image[i] = takt_onnx_item(c, image, i);
        w->block[i] = takt_onnx_item(c, block, i);
        bounds[i] = takt_onnx_at_most(TAKT_LENGTH_OPEN);
    }
    for (size_t i = 0; i < w->s.count; i++)
        w->out[i] = windows(w, i);
    const takt_id elements = product(w, w->block);
    const takt_id some = takt_onnx_with(c, &takt_op_max, elements, 1);
    const takt_id channels = takt_onnx_floordiv(c, takt_scalar_i64(w->g, t->dim[1]), some);
    /* Together they are the columns: planned as if all were channels. */
    const takt_onnx_bound both[2] = {takt_onnx_at_most(t->dim[1]), {t->dim[1], 1}};
    takt_onnx_lengths(c, takt_onnx_pack(c, (takt_id[]){channels, elements}, 2), both, 2, found);
    takt_onnx_lengths(c, image, bounds, w->s.count, w->picture + 2);
    w->picture[0] = t->dim[0];
    w->picture[1] = found[0];
    w->elements = found[1];
    const takt_dim stated[2] = {t->dim[1], t->dim[2]};
    const takt_named_attr attrs[] = {{"names", takt_attr_shape(stated, 2)},
                                     {"bounds", takt_attr_shape(stated, 2)},
                                     {"tops", takt_attr_shape(stated, 2)}};
    const takt_id given[2] = {takt_mul(w->g, channels, elements), product(w, w->out)};
    const takt_id sizes = c->status == TAKT_OK ? takt_onnx_pack(c, given, 2) : TAKT_NONE;
    if (sizes != TAKT_NONE) /* compares */
        (void)takt_onnx_op1(c, &takt_op_length, sizes, 3, attrs);
    return c->status;
}

/* Adds up `u`, [rows, elements * windows], at these indices of an image of zeros. */
static takt_id placed(const work *w, takt_id u, takt_id index, const takt_dim *wide)
{
    takt_dim size = 1;
    for (size_t i = 0; i < w->s.count && w->c->status == TAKT_OK; i++)
        w->c->status = takt_dim_make(w->g->dims, TAKT_DIM_MUL, size, w->picture[i + 2], &size);
    if (w->c->status == TAKT_OK)
        w->c->status = takt_dim_make(w->g->dims, TAKT_DIM_ADD, size, 1, &size);
    if (w->c->status != TAKT_OK || u == TAKT_NONE || index == TAKT_NONE)
        return TAKT_NONE;
    const takt_id zero = takt_onnx_scalar(w->c, takt_type_of(w->g, u)->dtype, 0);
    const takt_id base = takt_broadcast(w->g, zero, (takt_dim[]){wide[0], size}, 2);
    const takt_named_attr attrs[] = {{"axis", takt_attr_i64(1)}, {"reduce", takt_attr_i64(1)}};
    if (base == TAKT_NONE)
        return TAKT_NONE;
    const takt_id y =
        takt_graph_call(w->g, &takt_op_scatter_elements, 3, (takt_id[]){base, index, u}, 2, attrs);
    return takt_slice(w->g, y, 1, 0, -1, 1);
}

takt_status takt_col2im_found(takt_call *c, takt_id image, takt_id block, size_t count)
{
    const takt_type t = *takt_onnx_type(c, 0);
    work w = {.c = c, .g = c->g};
    takt_dim wide[3] = {0}, columns;
    if (t.rank != 3 || count < 1 || count > TAKT_ONNX_SPATIAL || !takt_dim_is_number(t.dim[1]))
        return takt_onnx_refuse(c, "rank %d", t.rank);
    const takt_type any = {.rank = 2 + (int)count};
    const int64_t ones[TAKT_ONNX_SPATIAL] = {1, 1, 1, 1, 1, 1};
    TAKT_TRY(takt_spatial_read(c, &any, ones, count, &w.s));
    TAKT_TRY(find_sizes(&w, image, block, &t));
    TAKT_TRY(takt_dim_make(c->g->dims, TAKT_DIM_MUL, t.dim[0], w.picture[1], &wide[0]));
    TAKT_TRY(takt_dim_make(c->g->dims, TAKT_DIM_MUL, w.elements, t.dim[2], &columns));
    wide[1] = w.elements;
    wide[2] = t.dim[2];
    takt_id index = places(&w, t.dim[2]);
    if (index == TAKT_NONE)
        return takt_onnx_done(c, index);
    const takt_dim flat[2] = {wide[0], columns};
    index = takt_reshape(c->g, takt_broadcast(c->g, index, wide, 3), flat, 2);
    const takt_id u = takt_onnx_as_stated(c, takt_onnx_in(c, 0), flat, 2);
    const takt_id y = placed(&w, u, index, wide);
    return takt_onnx_done(c, y == TAKT_NONE ? y : takt_reshape(c->g, y, w.picture, 2 + count));
}
