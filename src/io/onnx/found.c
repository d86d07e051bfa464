/* found.c - sizes inside a body that depend on values, and values that must not have such a
 * size. */
#include <string.h>

#include "io/onnx/control.h"
#include "io/onnx/lengths.h"

bool takt_onnx_is_found(takt_call *c, const takt_graph *g, const takt_type *t)
{
    const size_t count = takt_dims_name_count(g->dims);
    int64_t *sizes = takt_onnx_get(c, count + 1, sizeof *sizes);
    bool is_some = false, is_found = false;
    size_t name;
    if (sizes == NULL)
        return false;
    for (size_t i = 0; i < count; i++)
        sizes[i] = -1;
    for (size_t i = 0; i < g->count; i++) {
        const takt_attr *names = &g->nodes[i].attr[TAKT_LENGTH_NAMES];
        for (uint32_t k = 0; g->nodes[i].op == &takt_op_length && k < names->count; k++)
            if (takt_length_names(g, &g->nodes[i], k, &name)) {
                sizes[name] = 1;
                is_some = true;
            }
    }
    for (int d = 0; d < t->rank && is_some; d++) {
        takt_dim is, with;
        if (takt_dim_resolve(g->dims, t->dim[d], &is) != TAKT_OK ||
            takt_dim_substitute(g->dims, is, sizes, count, &with) != TAKT_OK)
            return true;
        is_found = is_found || is != with;
    }
    return is_found;
}

takt_id takt_onnx_as_stated(takt_call *c, takt_id x, const takt_dim *dims, size_t rank)
{
    takt_dim count = 1, own;
    for (size_t d = 0; d < rank && c->status == TAKT_OK; d++)
        c->status = takt_dim_make(c->g->dims, TAKT_DIM_MUL, count, dims[d], &count);
    const takt_id flat = takt_onnx_flat(c, x, &own);
    const takt_id part = c->status == TAKT_OK ? takt_onnx_sized(c, flat, count) : TAKT_NONE;
    return part != TAKT_NONE ? takt_reshape(c->g, part, dims, rank) : TAKT_NONE;
}

takt_id takt_onnx_demand_shape(takt_call *c, takt_graph *g, takt_id x, const takt_type *type)
{
    takt_graph *outer = c->g;
    takt_dim dims[TAKT_MAX_RANK];
    takt_id sizes[TAKT_MAX_RANK], y = TAKT_NONE;
    const size_t rank = (size_t)type->rank;
    memcpy(dims, type->dim, sizeof dims);
    c->g = g;
    takt_onnx_sizes(c, x, sizes);
    const takt_id all = rank > 0 ? takt_onnx_pack(c, sizes, rank) : TAKT_NONE;
    const takt_named_attr attrs[] = {{"names", takt_attr_shape(dims, rank)},
                                     {"bounds", takt_attr_shape(dims, rank)},
                                     {"tops", takt_attr_shape(dims, rank)}};
    if (all != TAKT_NONE && takt_onnx_op1(c, &takt_op_length, all, 3, attrs) != TAKT_NONE)
        y = takt_onnx_as_stated(c, x, dims, rank);
    c->g = outer;
    if (y == TAKT_NONE && c->status == TAKT_OK)
        c->status = g->status;
    return y;
}
