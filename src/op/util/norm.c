/* norm.c - shared by softmax and the normalisations. */
#include "op/util/norm.h"

#include <math.h>

#include "ir/infer.h"
#include "op/util/formula.h"
#include "op/util/stops.h"

takt_status takt_axis_infer(takt_infer *in)
{
    int axis;
    if (!takt_axis(in, in->attr[0].i64, in->type[0]->rank, &axis))
        return TAKT_ERR_ARGUMENT;
    in->out[0] = *in->type[0];
    return TAKT_OK;
}

takt_reduction takt_axis_reduction(const takt_node *n, int64_t *axis)
{
    *axis = n->attr[0].i64;
    return (takt_reduction){.x = n->in[0], .axes = axis, .count = 1, .keep = true};
}

takt_id takt_shifted(takt_graph *g, const takt_reduction *r)
{
    return takt_sub(g, r->x, takt_reduce_by(g, &takt_op_reduce_max, r->x, r));
}

takt_norm takt_norm_make(takt_graph *g, const takt_reduction *over, double epsilon, bool is_centred)
{
    takt_norm norm = {.over = *over, .is_centred = is_centred};
    norm.over.keep = true;
    norm.over.x = takt_widen(g, over->x);
    takt_reduction squares = norm.over;
    takt_id x = norm.over.x;
    if (is_centred)
        x = takt_sub(g, x, takt_mean(g, &norm.over));
    squares.x = x;
    const takt_id sum = takt_reduce_by(g, &takt_op_reduce_sum_square, x, &squares);
    const takt_id mean = takt_div(g, sum, takt_reduced_count(g, x, &squares));
    const takt_id variance = takt_add_scalar(g, mean, epsilon);
    norm.scale = takt_reciprocal(g, takt_unary(g, &takt_op_sqrt, variance));
    norm.normal = takt_mul(g, x, norm.scale);
    return norm;
}

/* scale * (d - mean(d) - normal * mean(d * normal)). */
takt_id takt_norm_grad(takt_graph *g, const takt_norm *norm, takt_id d_normal)
{
    takt_reduction mean = norm->over;
    const takt_id d = takt_widen(g, d_normal);
    mean.x = takt_mul(g, d, norm->normal);
    takt_id dx = takt_sub(g, d, takt_mul(g, norm->normal, takt_mean(g, &mean)));
    mean.x = d;
    if (norm->is_centred)
        dx = takt_sub(g, dx, takt_mean(g, &mean));
    return takt_mul(g, norm->scale, dx);
}

takt_id takt_affine_apply(takt_graph *g, takt_id normal, const takt_affine *affine)
{
    normal = takt_mul(g, normal, affine->gamma);
    return affine->beta != TAKT_NONE ? takt_add(g, normal, affine->beta) : normal;
}

takt_id takt_per_channel(takt_graph *g, takt_id vector, int rank, int64_t layout)
{
    if (vector == TAKT_NONE || layout == TAKT_NHWC)
        return vector;
    takt_dim dims[TAKT_MAX_RANK];
    dims[0] = takt_type_of(g, vector)->dim[0];
    for (int i = 1; i < rank - 1; i++)
        dims[i] = 1;
    return takt_reshape(g, vector, dims, (size_t)rank - 1);
}

takt_id takt_sum_per_channel(takt_graph *g, takt_id x, int64_t layout)
{
    if (x == TAKT_NONE)
        return TAKT_NONE;
    const int rank = takt_type_of(g, x)->rank, channel = layout == TAKT_NHWC ? rank - 1 : 1;
    int64_t axes[TAKT_MAX_RANK];
    size_t count = 0;
    for (int i = 0; i < rank; i++)
        if (i != channel)
            axes[count++] = i;
    return takt_reduce_over(g, &takt_op_reduce_sum, x, axes, count, false);
}

void takt_norm_inputs(takt_graph *g, const takt_node *n, int64_t layout, takt_id in[static 3])
{
    const int rank = n->type[0].rank;
    in[0] = n->in[0];
    for (uint32_t i = 1; i < 3; i++)
        in[i] = takt_per_channel(g, i < n->in_count ? n->in[i] : TAKT_NONE, rank, layout);
}

void takt_affine_grad(takt_graph *g, const takt_node *n, int64_t layout, takt_id dy, takt_id normal,
                      takt_id *dx)
{
    dx[1] = takt_sum_per_channel(g, takt_mul(g, dy, normal), layout);
    if (n->in_count > 2 && n->in[2] != TAKT_NONE)
        dx[2] = takt_sum_per_channel(g, dy, layout);
}

/* The position of element `i` of x. */
typedef struct place {
    size_t channel, group;
} place;

static place place_of(const takt_array *x, size_t groups, int64_t layout, size_t i)
{
    const size_t batch = (size_t)x->dim[0];
    const size_t channels = (size_t)x->dim[layout == TAKT_NHWC ? x->rank - 1 : 1];
    const size_t inner = x->count / (batch * channels);
    const size_t channel = layout == TAKT_NHWC ? i % channels : i / inner % channels;
    return (place){channel, i / (channels * inner) * groups + channel / (channels / groups)};
}

takt_status takt_group_eval(takt_eval *e, size_t groups, double epsilon, int64_t layout)
{
    const takt_array *x = &e->in[0];
    const bool has_beta = e->in_count > 2 && e->in[2].rank >= 0;
    const size_t cells = (size_t)x->dim[0] * groups;
    double *mean = takt_arena_array(e->scratch, cells, sizeof *mean);
    double *variance = takt_arena_array(e->scratch, cells, sizeof *variance);
    if (mean == NULL || variance == NULL)
        return TAKT_ERR_MEMORY;
    const double count = (double)x->count / (double)cells;
    for (size_t i = 0; i < x->count && !takt_eval_stops(e, 1); i++)
        mean[place_of(x, groups, layout, i).group] += x->f[i] / count;
    for (size_t i = 0; i < x->count && !takt_eval_stops(e, 1); i++) {
        const size_t cell = place_of(x, groups, layout, i).group;
        variance[cell] += (x->f[i] - mean[cell]) * (x->f[i] - mean[cell]) / count;
    }
    for (size_t i = 0; i < x->count && !takt_eval_stops(e, 1); i++) {
        const place at = place_of(x, groups, layout, i);
        const double y = (x->f[i] - mean[at.group]) / sqrt(variance[at.group] + epsilon);
        const double scaled = y * e->in[1].f[at.channel];
        e->out[0].f[i] = has_beta ? scaled + e->in[2].f[at.channel] : scaled;
    }
    return TAKT_OK;
}
