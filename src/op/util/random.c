/* random.c - shared by the ops that draw random numbers. */
#include "op/util/random.h"

#include "op/util/check.h"

takt_status takt_random_infer(takt_infer *in, size_t first, int stream)
{
    for (size_t i = first; i < first + 3; i++) {
        TAKT_TRY(takt_infer_rank(in, i, 0, 0));
        TAKT_TRY(takt_infer_dtype(in, i, TAKT_IN(TAKT_U64), "u64"));
    }
    return takt_check_range(in, stream, 0, UINT32_MAX);
}

takt_status takt_random_infer_shaped(takt_infer *in, int stream, int dtype, int shape)
{
    TAKT_TRY(takt_random_infer(in, 0, stream));
    TAKT_TRY(takt_check_set_shape(in, shape, &in->out[0]));
    in->out[0].dtype = in->attr[dtype].dtype;
    if ((TAKT_FLOATS & TAKT_IN(in->out[0].dtype)) == 0)
        return takt_fail(in->ctx, TAKT_E_DTYPE, "%s: dtype must be a float, got %s", in->op->name,
                         takt_dtype_name(in->out[0].dtype));
    return TAKT_OK;
}

takt_id takt_random_draw(takt_graph *g, const takt_node *n, size_t first, int stream, int dist,
                         const takt_type *type)
{
    const takt_named_attr attrs[] = {{"stream", n->attr[stream]},
                                     {"dist", takt_attr_i64(dist)},
                                     {"dtype", takt_attr_dtype(type->dtype)},
                                     {"shape", takt_attr_shape(type->dim, (size_t)type->rank)}};
    return takt_graph_call(g, &takt_op_rand, 3, n->in + first, 4, attrs);
}
