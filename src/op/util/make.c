/* make.c - small builders for gradients and lowerings of structural ops. */
#include "op/util/make.h"

takt_dim takt_make_dim(takt_graph *g, takt_dim_op op, takt_dim a, takt_dim b)
{
    takt_dim out = 0;
    const takt_status status = takt_dim_make(g->dims, op, a, b, &out);
    if (status == TAKT_OK)
        return out;
    takt_graph_fail(g, status);
    return 0;
}

takt_dim takt_make_product(takt_graph *g, const takt_dim *dims, int count)
{
    takt_dim product = 1;
    for (int i = 0; i < count; i++)
        product = takt_make_dim(g, TAKT_DIM_MUL, product, dims[i]);
    return product;
}

takt_id takt_make_filled(takt_graph *g, takt_id like, double value)
{
    return takt_broadcast_like(g, takt_scalar_like(g, like, value), like);
}

takt_id takt_make_iota(takt_graph *g, const takt_dim *dims, int rank, int axis)
{
    const takt_named_attr attrs[] = {
        {"dtype", takt_attr_dtype(TAKT_I64)},
        {"shape", takt_attr_shape(dims, (size_t)rank)},
        {"axis", takt_attr_i64(axis)},
    };
    return takt_graph_call(g, &takt_op_iota, 0, NULL, 3, attrs);
}

takt_id takt_make_axis(takt_graph *g, const takt_op *op, size_t count, const takt_id *in,
                       int64_t axis)
{
    const takt_named_attr attr = {"axis", takt_attr_i64(axis)};
    return takt_graph_call(g, op, count, in, 1, &attr);
}

double takt_make_count(const takt_type *type)
{
    double count = 1;
    for (int i = 0; i < type->rank; i++)
        count *= takt_dim_is_number(type->dim[i]) ? (double)type->dim[i] : 0;
    return count;
}

double takt_make_bytes(const takt_graph *g, const takt_node *n)
{
    double bits = 0;
    for (uint32_t i = 0; i < n->in_count; i++)
        if (n->in[i] != TAKT_NONE) {
            const takt_type *t = takt_type_of(g, n->in[i]);
            bits += takt_make_count(t) * takt_dtype_bits(t->dtype);
        }
    for (uint32_t i = 0; i < n->out_count; i++)
        bits += takt_make_count(&n->type[i]) * takt_dtype_bits(n->type[i].dtype);
    return bits / 8;
}
