/* last_axes.c - layer_norm and rms_norm: normalisation over the axes from `axis` to the last. */
#include "op/util/last_axes.h"

#include <math.h>

#include "ir/infer.h"
#include "op/util/stops.h"
#include "op/util/walk.h"

takt_status takt_last_axes_infer(takt_infer *in)
{
    const takt_type *x = in->type[0];
    int axis;
    if (!takt_axis(in, in->attr[TAKT_LAST_AXIS].i64, x->rank, &axis))
        return TAKT_ERR_ARGUMENT;
    if (!(in->attr[TAKT_LAST_EPSILON].f64 >= 0))
        return takt_infer_fail(in, TAKT_E_ATTR, "epsilon may not be negative, but is %g",
                               in->attr[TAKT_LAST_EPSILON].f64);
    takt_type normal = {.dtype = x->dtype, .rank = x->rank - axis};
    for (int i = 0; i < normal.rank; i++)
        normal.dim[i] = x->dim[axis + i];
    for (size_t i = 1; i < in->in_count; i++)
        if (takt_infer_has(in, i))
            TAKT_TRY(takt_infer_fits(in, i, &normal));
    in->out[0] = *x;
    return TAKT_OK;
}

static void normalise(const double *x, double *y, size_t count, double epsilon, bool is_centred)
{
    double mean = 0, variance = 0;
    for (size_t i = 0; i < count && is_centred; i++)
        mean += x[i] / (double)count;
    for (size_t i = 0; i < count; i++)
        variance += (x[i] - mean) * (x[i] - mean) / (double)count;
    for (size_t i = 0; i < count; i++)
        y[i] = (x[i] - mean) / sqrt(variance + epsilon);
}

takt_status takt_last_axes_eval(takt_eval *e, bool is_centred)
{
    const takt_array *x = &e->in[0];
    takt_array *out = &e->out[0];
    const takt_rows first = takt_rows_of(x, e->attr[TAKT_LAST_AXIS].i64);
    const size_t row = first.size * first.inner;
    for (size_t r = 0; r < first.outer && !takt_eval_stops(e, row); r++)
        normalise(x->f + r * row, out->f + r * row, row, e->attr[TAKT_LAST_EPSILON].f64,
                  is_centred);
    for (size_t k = 1; k < e->in_count; k++) {
        if (e->in[k].rank < 0)
            continue;
        takt_walk at;
        takt_walk_broadcast(&at, &e->in[k], out);
        for (size_t i = 0; i < out->count; i++, takt_walk_next(&at))
            out->f[i] = k == 1 ? out->f[i] * e->in[k].f[at.at] : out->f[i] + e->in[k].f[at.at];
    }
    return TAKT_OK;
}

/* `axes` has room for the list that the result points to. */
static takt_reduction reduction(const takt_graph *g, const takt_node *n,
                                int64_t axes[static TAKT_MAX_RANK])
{
    takt_reduction r = {.x = n->in[0], .axes = axes, .keep = true};
    const int rank = takt_type_of(g, n->in[0])->rank;
    const int64_t axis = n->attr[TAKT_LAST_AXIS].i64;
    for (int64_t i = axis < 0 ? axis + rank : axis; i < rank; i++)
        axes[r.count++] = i;
    return r;
}

static takt_id beta_of(const takt_node *n)
{
    return n->in_count > 2 ? n->in[2] : TAKT_NONE;
}

takt_id takt_last_axes_lower(takt_graph *g, const takt_node *n, bool is_centred)
{
    int64_t axes[TAKT_MAX_RANK];
    const takt_reduction r = reduction(g, n, axes);
    const takt_affine affine = {n->in[1], beta_of(n)};
    const takt_dtype dtype = n->type[0].dtype;
    const takt_norm norm = takt_norm_make(g, &r, n->attr[TAKT_LAST_EPSILON].f64, is_centred);
    return takt_affine_apply(g, takt_cast(g, norm.normal, dtype), &affine);
}

/* x, gamma if there are three, and dy of the shape of x. */
takt_status takt_last_axes_infer_dx(takt_infer *in)
{
    const size_t given = in->in_count, dy = given - 1;
    TAKT_TRY(takt_infer_same_shape(in, 0, dy));
    in->in_count = dy;
    const takt_status status = takt_last_axes_infer(in);
    in->in_count = given;
    return status;
}

static takt_norm norm_of(takt_graph *g, const takt_node *n, int64_t *axes)
{
    const takt_reduction r = reduction(g, n, axes);
    return takt_norm_make(g, &r, n->attr[TAKT_LAST_EPSILON].f64,
                          n->attr[TAKT_LAST_CENTRED].boolean);
}

takt_id takt_last_axes_dx(takt_graph *g, const takt_node *n)
{
    int64_t axes[TAKT_MAX_RANK];
    const takt_dtype dtype = n->type[0].dtype;
    const takt_norm norm = norm_of(g, n, axes);
    const takt_id d_normal = takt_mul(g, n->in[2], n->in[1]);
    return takt_cast(g, takt_norm_grad(g, &norm, d_normal), dtype);
}

takt_id takt_last_axes_dgamma(takt_graph *g, const takt_node *n)
{
    int64_t axes[TAKT_MAX_RANK];
    const takt_dtype dtype = n->type[0].dtype;
    const takt_norm norm = norm_of(g, n, axes);
    return takt_mul(g, n->in[1], takt_cast(g, norm.normal, dtype));
}

void takt_last_axes_grad(takt_graph *g, const takt_node *n, bool is_centred, takt_id dy,
                         takt_id *dx)
{
    const takt_id x = n->in[0], gamma = n->in[1], beta = beta_of(n);
    const takt_named_attr attrs[] = {{"axis", n->attr[TAKT_LAST_AXIS]},
                                     {"epsilon", n->attr[TAKT_LAST_EPSILON]},
                                     {"centred", takt_attr_bool(is_centred)}};
    dx[0] = takt_graph_call(g, &takt_op_norm_dx, 3, (takt_id[]){x, gamma, dy}, 3, attrs);
    const takt_id each = takt_graph_call(g, &takt_op_norm_dgamma, 2, (takt_id[]){x, dy}, 3, attrs);
    dx[1] = takt_sum_to(g, each, gamma);
    if (beta != TAKT_NONE)
        dx[2] = takt_sum_to(g, dy, beta);
}
