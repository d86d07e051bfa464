/* nd.c - shared by gather_nd and scatter_nd. */
#include "op/util/nd.h"

#include "op/util/check.h"

takt_status takt_nd_infer(takt_infer *in, int64_t batch, takt_type *selected)
{
    const takt_type *x = in->type[0], *index = in->type[1];
    TAKT_TRY(takt_check_index(in, 1));
    TAKT_TRY(takt_infer_rank(in, 0, 1, TAKT_MAX_RANK));
    TAKT_TRY(takt_infer_rank(in, 1, 1, TAKT_MAX_RANK));
    char tx[TAKT_TYPE_TEXT], ti[TAKT_TYPE_TEXT];
    takt_type_text(in->dims, x, tx);
    takt_type_text(in->dims, index, ti);
    if (batch < 0 || batch >= x->rank || batch >= index->rank)
        return takt_fail(in->ctx, TAKT_E_ATTR, "%s: batch is %lld, but x is %s and index is %s",
                         in->op->name, (long long)batch, tx, ti);
    const takt_dim k = index->dim[index->rank - 1];
    if (!takt_dim_is_number(k) || k < 1 || k > x->rank - batch)
        return takt_fail(in->ctx, TAKT_E_SHAPE,
                         "%s: the last dimension of index must be 1 to %lld "
                         "coordinates: x is %s, index is %s",
                         in->op->name, (long long)(x->rank - batch), tx, ti);
    for (int i = 0; i < (int)batch; i++)
        TAKT_TRY(takt_check_dims(in, 0, i, 1, i));
    const int blocks = x->rank - (int)batch - (int)k;
    if (index->rank - 1 + blocks > TAKT_MAX_RANK)
        return takt_fail(in->ctx, TAKT_E_RANK,
                         "%s: x is %s and index is %s, which makes more than "
                         "%d axes",
                         in->op->name, tx, ti, TAKT_MAX_RANK);
    *selected = *index;
    selected->dtype = x->dtype;
    selected->rank = index->rank - 1;
    for (int i = 0; i < blocks; i++)
        selected->dim[selected->rank++] = x->dim[batch + k + i];
    return TAKT_OK;
}

takt_status takt_nd_block(const takt_eval *e, int64_t batch, size_t row, size_t *offset,
                          size_t *size)
{
    const takt_array *x = &e->in[0], *index = &e->in[1];
    const int k = (int)index->dim[index->rank - 1], first = (int)batch;
    const size_t rows = takt_index_span(index, first, index->rank - 1);
    size_t flat = row / rows; /* which of the batch */
    for (int i = 0; i < k; i++) {
        int64_t at = 0;
        TAKT_TRY(takt_index_read(e, 1, row * (size_t)k + (size_t)i, x->dim[first + i], &at));
        flat = flat * (size_t)x->dim[first + i] + (size_t)at;
    }
    *size = takt_index_span(x, first + k, x->rank);
    *offset = flat * *size;
    return TAKT_OK;
}

takt_id takt_nd_gather(takt_graph *g, takt_id x, takt_id index, int64_t batch)
{
    const takt_named_attr attr = {"batch", takt_attr_i64(batch)};
    return takt_graph_call(g, &takt_op_gather_nd, 2, (takt_id[]){x, index}, 1, &attr);
}

takt_id takt_nd_scatter(takt_graph *g, takt_id x, takt_id index, takt_id u, int64_t batch,
                        takt_scatter how)
{
    const takt_named_attr attrs[] = {{"batch", takt_attr_i64(batch)},
                                     {"reduce", takt_attr_i64((int64_t)how)}};
    return takt_graph_call(g, &takt_op_scatter_nd, 3, (takt_id[]){x, index, u}, 2, attrs);
}
