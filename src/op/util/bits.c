/* bits.c - bools as words, and back. */
#include "op/util/bits.h"

takt_bit_rows takt_bit_rows_of(const takt_type *words, const takt_type *bools)
{
    const int last = words->rank - 1;
    takt_bit_rows r = {1, (size_t)words->dim[last], (size_t)bools->dim[last]};
    for (int d = 0; d < last; d++)
        r.rows *= (size_t)words->dim[d];
    return r;
}

takt_id takt_pack_bits(takt_graph *g, takt_id x)
{
    return takt_unary(g, &takt_op_pack_bits, x);
}

takt_id takt_unpack_bits(takt_graph *g, takt_id x, takt_dim size)
{
    const takt_named_attr attr = {"size", takt_attr_shape(&size, 1)};
    return takt_graph_call(g, &takt_op_unpack_bits, 1, &x, 1, &attr);
}
