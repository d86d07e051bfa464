/* elements.c - shared by the ops that index single elements. */
#include "op/util/elements.h"

#include "op/util/check.h"

takt_status takt_elements_infer(takt_infer *in, int64_t given, int *axis)
{
    const takt_type *x = in->type[0], *index = in->type[1];
    TAKT_TRY(takt_check_index(in, 1));
    TAKT_TRY(takt_check_axis(in, given, x->rank, axis));
    bool fits = x->rank == index->rank;
    for (int i = 0; fits && i < x->rank; i++) {
        takt_dim have = 0, want = 0;
        TAKT_TRY(takt_dim_resolve(in->dims, x->dim[i], &have));
        TAKT_TRY(takt_dim_resolve(in->dims, index->dim[i], &want));
        /* A named size is not checked: index may be shorter, and is checked again when sizes are
         * known. */
        if (i != *axis && takt_dim_is_number(have) && takt_dim_is_number(want))
            fits = want <= have;
    }
    if (fits)
        return TAKT_OK;
    char tx[TAKT_TYPE_TEXT], ti[TAKT_TYPE_TEXT];
    takt_fail(in->ctx, TAKT_E_SHAPE, "%s: index does not fit: x is %s, index is %s", in->op->name,
              takt_type_text(in->dims, x, tx), takt_type_text(in->dims, index, ti));
    return takt_fail_hint(in->ctx, "index has the rank of x and, apart from axis %d, is no longer",
                          *axis);
}

takt_id takt_elements_gather(takt_graph *g, takt_id x, takt_id index, int64_t axis)
{
    const takt_named_attr attr = {"axis", takt_attr_i64(axis)};
    return takt_graph_call(g, &takt_op_gather_elements, 2, (takt_id[]){x, index}, 1, &attr);
}

takt_id takt_elements_scatter(takt_graph *g, takt_id x, takt_id index, takt_id u, int64_t axis,
                              takt_scatter how)
{
    const takt_named_attr attrs[] = {{"axis", takt_attr_i64(axis)},
                                     {"reduce", takt_attr_i64((int64_t)how)}};
    return takt_graph_call(g, &takt_op_scatter_elements, 3, (takt_id[]){x, index, u}, 2, attrs);
}
