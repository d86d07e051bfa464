/* Trilu.c - Trilu: the diagonal's number is an input. */
#include "op/record/trilu.h"
#include "io/onnx/lengths.h"

/* The diagonal is found at run time. */
static takt_status by_value(takt_call *c, takt_id k)
{
    takt_graph *g = c->g;
    const takt_type t = *takt_onnx_type(c, 0);
    const takt_id x = takt_onnx_in(c, 0);
    if (c->status != TAKT_OK || t.rank < 2)
        return takt_onnx_refuse(c, "rank %d", t.rank);
    const takt_dim column[2] = {t.dim[t.rank - 2], 1};
    const takt_id rows = takt_reshape(g, takt_onnx_counted(c, column[0]), column, 2);
    const takt_id columns = takt_onnx_counted(c, t.dim[t.rank - 1]);
    const bool is_upper = takt_onnx_i(c, "upper", 1) != 0;
    const takt_id stays = takt_binary(g, is_upper ? &takt_op_ge : &takt_op_le, columns,
                                      takt_add(g, rows, takt_onnx_item(c, k, 0)));
    return takt_onnx_done(c, takt_select(g, stays, x, takt_scalar_like(g, x, 0)));
}

static takt_status adapt(takt_call *c)
{
    size_t count = 0;
    const takt_id found = takt_onnx_has(c, 1) && takt_onnx_peek(c, 1) == NULL
                              ? takt_onnx_vector(c, 1, &count)
                              : TAKT_NONE;
    if (found != TAKT_NONE && count == 1)
        return by_value(c, found);
    const takt_ints k = takt_onnx_known_ints(c, 1);
    const takt_named_attr attrs[] = {{"upper", takt_attr_bool(takt_onnx_i(c, "upper", 1) != 0)},
                                     {"k", takt_attr_i64(k.count > 0 ? k.at[0] : 0)}};
    return takt_onnx_done(c, takt_onnx_op1(c, &takt_op_trilu, takt_onnx_in(c, 0), 2, attrs));
}

const takt_onnx_op takt_onnx_Trilu = {.names = {"Trilu"}, .adapt = adapt};
