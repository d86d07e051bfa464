/* blocks.c - moving between channels and blocks of pixels. */
#include "op/util/blocks.h"

#include "op/util/check.h"

takt_status takt_blocks_divide(takt_infer *in, int axis, int64_t by, takt_dim *out)
{
    const takt_dim dim = in->type[0]->dim[axis];
    char type[TAKT_TYPE_TEXT];
    if (takt_dim_is_number(dim) && dim % by != 0)
        return takt_fail(in->ctx, TAKT_E_SHAPE, "%s: %lld does not divide axis %d of %s",
                         in->op->name, (long long)by, axis,
                         takt_type_text(in->dims, in->type[0], type));
    TAKT_TRY(takt_dim_make(in->dims, TAKT_DIM_FLOORDIV, dim, by, out));
    /* On a named axis there must be no remainder. */
    takt_dim whole = 0;
    bool agree = false;
    TAKT_TRY(takt_dim_make(in->dims, TAKT_DIM_MUL, *out, by, &whole));
    if (takt_dim_is_number(dim) || takt_dim_same(in->dims, whole, dim))
        return TAKT_OK;
    TAKT_TRY(takt_check_agree(in, whole, dim, &agree));
    if (agree)
        return TAKT_OK;
    takt_fail(in->ctx, TAKT_E_SHAPE, "%s: cannot tell whether %lld divides axis %d of %s",
              in->op->name, (long long)by, axis, takt_type_text(in->dims, in->type[0], type));
    return takt_fail_hint(in->ctx, "write the dimension as a multiple, such as %lld*n",
                          (long long)by);
}

takt_id takt_blocks_move(takt_graph *g, const takt_node *n, const takt_dim split[static 6],
                         const int64_t perm[static 6])
{
    const takt_id x = takt_transpose(g, takt_reshape(g, n->in[0], split, 6), perm, 6);
    return takt_reshape(g, x, n->type[0].dim, 4);
}
