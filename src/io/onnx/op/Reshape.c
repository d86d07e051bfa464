/* Reshape.c - Reshape: 0 keeps a dimension, -1 is inferred. */
#include "io/onnx/lengths.h"

static takt_syms wanted(takt_call *c)
{
    if (c->opset >= 5)
        return takt_onnx_syms(c, 1);
    const takt_ints list = takt_onnx_ints(c, "shape");
    takt_sym *at = takt_onnx_get(c, list.count, sizeof *at);
    for (size_t i = 0; at != NULL && i < list.count; i++)
        at[i].number = list.at[i];
    return (takt_syms){at, list.count};
}

/* The dimension given as -1: everything divided by the others. */
static takt_status fill(takt_call *c, const takt_type *x, takt_dim *dims, size_t rank, size_t hole)
{
    takt_dim all = 1, rest = 1;
    for (int i = 0; i < x->rank; i++)
        TAKT_TRY(takt_dim_make(c->g->dims, TAKT_DIM_MUL, all, x->dim[i], &all));
    for (size_t i = 0; i < rank; i++)
        if (i != hole)
            TAKT_TRY(takt_dim_make(c->g->dims, TAKT_DIM_MUL, rest, dims[i], &rest));
    if (rest == 0)
        return takt_onnx_refuse(c, "a dimension of -1 together with one of 0");
    return takt_dim_make(c->g->dims, TAKT_DIM_FLOORDIV, all, rest, &dims[hole]);
}

/* Resolves the elements of a shape: 0 keeps a dimension, -1 is derived from the others. */
static takt_id meant(takt_call *c, takt_id shape, size_t count, bool keeps_zero)
{
    takt_graph *g = c->g;
    takt_id own[TAKT_MAX_RANK], dims[TAKT_MAX_RANK];
    const takt_id x = takt_onnx_in(c, 0);
    const int rank = takt_type_of(g, x)->rank;
    takt_id rest = takt_scalar_i64(g, 1), all = rest;
    takt_onnx_sizes(c, x, own);
    for (int i = 0; i < rank; i++)
        all = takt_mul(g, all, own[i]);
    for (size_t i = 0; i < count; i++) {
        dims[i] = takt_onnx_item(c, shape, i);
        if (!keeps_zero && (int)i < rank)
            dims[i] = takt_select(g, takt_onnx_with(c, &takt_op_eq, dims[i], 0), own[i], dims[i]);
        const takt_id is_open = takt_onnx_with(c, &takt_op_eq, dims[i], -1);
        rest = takt_mul(g, rest, takt_select(g, is_open, takt_scalar_i64(g, 1), dims[i]));
    }
    const takt_id left = takt_div(g, all, takt_onnx_with(c, &takt_op_max, rest, 1));
    for (size_t i = 0; i < count; i++)
        dims[i] = takt_select(g, takt_onnx_with(c, &takt_op_eq, dims[i], -1), left, dims[i]);
    return takt_onnx_pack(c, dims, count);
}

/* No elements: any sizes of which one is 0, which a run checks. */
static takt_status by_values_empty(takt_call *c, takt_id n, size_t count)
{
    takt_onnx_bound bounds[TAKT_MAX_RANK];
    takt_dim dims[TAKT_MAX_RANK];
    const takt_dim none = 0, one = 1;
    takt_id all = takt_onnx_item(c, n, 0);
    for (size_t i = 0; i < count; i++) {
        bounds[i] = takt_onnx_at_most(TAKT_LENGTH_OPEN);
        all = i == 0 ? all : takt_mul(c->g, all, takt_onnx_item(c, n, i));
    }
    takt_onnx_lengths(c, n, bounds, count, dims);
    const takt_named_attr attrs[] = {{"names", takt_attr_shape(&none, 1)},
                                     {"bounds", takt_attr_shape(&none, 1)},
                                     {"tops", takt_attr_shape(&none, 1)}};
    if (c->status != TAKT_OK || all == TAKT_NONE)
        return takt_onnx_done(c, TAKT_NONE);
    (void)takt_onnx_op1(c, &takt_op_length, takt_reshape(c->g, all, &one, 1), 3, attrs);
    const takt_id zero = takt_onnx_scalar(c, takt_onnx_type(c, 0)->dtype, 0);
    return takt_onnx_done(c, takt_broadcast(c->g, zero, dims, count));
}

/* All sizes but the last are found at run time; the last is inferred. Memory is planned as if all
 * elements were along the first axis. */
static takt_status by_values(takt_call *c, takt_id shape, size_t count)
{
    const bool keeps_zero = takt_onnx_i(c, "allowzero", 0) != 0;
    const takt_id x = takt_onnx_in(c, 0);
    takt_onnx_bound bounds[TAKT_MAX_RANK];
    takt_dim dims[TAKT_MAX_RANK], all, rest = 1;
    if (c->status != TAKT_OK || count > TAKT_MAX_RANK)
        return takt_onnx_refuse(c, "%zu dimensions", count);
    const takt_id flat = takt_onnx_flat(c, x, &all);
    if (count <= 1 || flat == TAKT_NONE)
        return takt_onnx_done(c, count == 1 ? flat : takt_onnx_shape(c, x, NULL, 0));
    for (size_t i = 0; i < count; i++)
        bounds[i] = (takt_onnx_bound){all, i == 0 ? all : 1};
    const takt_id n = meant(c, shape, count, keeps_zero);
    if (all == 0)
        return by_values_empty(c, n, count);
    if (keeps_zero) { /* with no elements the rest is undetermined */
        takt_onnx_lengths(c, n, bounds, count, dims);
    } else {
        takt_onnx_lengths(c, takt_slice(c->g, n, 0, 0, (int64_t)count - 1, 1), bounds, count - 1,
                          dims);
        for (size_t i = 0; i + 1 < count && c->status == TAKT_OK; i++)
            c->status = takt_dim_make(c->g->dims, TAKT_DIM_MUL, rest, dims[i], &rest);
        if (c->status == TAKT_OK)
            c->status = takt_dim_make(c->g->dims, TAKT_DIM_MAX, rest, 1, &rest);
        if (c->status == TAKT_OK)
            c->status = takt_dim_make(c->g->dims, TAKT_DIM_FLOORDIV, all, rest, &dims[count - 1]);
    }
    return takt_onnx_done(c, c->status == TAKT_OK ? takt_reshape(c->g, x, dims, count) : TAKT_NONE);
}

static takt_status adapt(takt_call *c)
{
    size_t open = 0;
    const takt_syms known = c->opset >= 5 ? takt_onnx_peek_syms(c, 1) : (takt_syms){0};
    const takt_id asked =
        c->opset >= 5 && known.at == NULL ? takt_onnx_vector(c, 1, &open) : TAKT_NONE;
    if (asked != TAKT_NONE)
        return by_values(c, asked, open);
    const takt_type *x = takt_onnx_type(c, 0);
    const takt_syms shape = wanted(c);
    const bool keeps_zero = takt_onnx_i(c, "allowzero", 0) != 0;
    takt_dim dims[TAKT_MAX_RANK] = {0};
    size_t hole = SIZE_MAX;
    if (c->status != TAKT_OK)
        return c->status;
    if (shape.count > TAKT_MAX_RANK)
        return takt_onnx_refuse(c, "%zu dimensions", shape.count);
    for (size_t i = 0; i < shape.count; i++) {
        const takt_sym s = shape.at[i];
        if (s.is_dim)
            dims[i] = s.dim;
        else if (s.number == 0 && !keeps_zero && i < (size_t)x->rank)
            dims[i] = x->dim[i];
        else if (s.number >= 0)
            dims[i] = s.number;
        else if (s.number == -1 && hole == SIZE_MAX)
            hole = i;
        else
            return takt_onnx_refuse(c, "dimension %zu of the shape is %lld", i,
                                    (long long)s.number);
    }
    if (hole != SIZE_MAX)
        TAKT_TRY(fill(c, x, dims, shape.count, hole));
    return takt_onnx_done(c, takt_reshape(c->g, takt_onnx_in(c, 0), dims, shape.count));
}

const takt_onnx_op takt_onnx_Reshape = {.names = {"Reshape"}, .adapt = adapt};
