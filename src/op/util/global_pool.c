/* global_pool.c - pooling over all spatial axes. */
#include "op/util/global_pool.h"

static int first_axis(const takt_attr *attr)
{
    return attr[TAKT_GLOBAL_LAYOUT].i64 == TAKT_NHWC ? 1 : 2;
}

takt_status takt_global_infer(takt_infer *in)
{
    TAKT_TRY(takt_infer_rank(in, 0, 3, TAKT_MAX_RANK));
    in->out[0] = *in->type[0];
    const int first = first_axis(in->attr);
    for (int i = 0; i < in->out[0].rank - 2; i++)
        in->out[0].dim[first + i] = 1;
    return TAKT_OK;
}

takt_id takt_global_reduce(takt_graph *g, const takt_node *n, const takt_op *reduction)
{
    int64_t axes[TAKT_MAX_RANK];
    const int count = n->type[0].rank - 2;
    for (int i = 0; i < count; i++)
        axes[i] = first_axis(n->attr) + i;
    return takt_reduce_over(g, reduction, n->in[0], axes, (size_t)count, true);
}
