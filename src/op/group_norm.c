/* group_norm.c - mean 0 and variance 1 in each group of channels of each sample. */
#include "ir/infer.h"
#include "op/util/formula.h"
#include "op/util/norm.h"

enum { GROUPS, EPSILON, LAYOUT };

static takt_status infer(takt_infer *in)
{
    TAKT_TRY(takt_infer_rank(in, 0, 2, TAKT_MAX_RANK - 1));
    const takt_type *x = in->type[0];
    const takt_dim channels = x->dim[in->attr[LAYOUT].i64 == TAKT_NHWC ? x->rank - 1 : 1];
    const int64_t groups = in->attr[GROUPS].i64;
    if (!takt_dim_is_number(channels))
        return takt_infer_fail(in, TAKT_E_SHAPE, "the number of channels must be known");
    if (groups < 1 || channels % groups != 0)
        return takt_infer_fail(in, TAKT_E_ATTR, "%lld channels do not make %lld equal groups",
                               (long long)channels, (long long)groups);
    for (size_t i = 1; i < in->in_count; i++)
        if (takt_infer_has(in, i))
            TAKT_TRY(takt_infer_vector(in, i, channels));
    in->out[0] = *x;
    return TAKT_OK;
}

static takt_status eval(takt_eval *e)
{
    return takt_group_eval(e, (size_t)e->attr[GROUPS].i64, e->attr[EPSILON].f64,
                           e->attr[LAYOUT].i64);
}

/* The shape with the channels split: [N, G, C/G, …] or [N, …, G, C/G]. */
static takt_type split_shape(const takt_type *x, int64_t groups, int64_t layout)
{
    const int at = layout == TAKT_NHWC ? x->rank - 1 : 1;
    takt_type out = {.dtype = x->dtype, .rank = x->rank + 1};
    for (int i = 0; i <= x->rank; i++)
        out.dim[i] = i < at ? x->dim[i] : i == at ? groups : x->dim[i - 1];
    out.dim[at + 1] = x->dim[at] / groups;
    return out;
}

/* Normalises the split x over all but N and G; `axes` has room for the list. */
static takt_norm normalise(takt_graph *g, const takt_node *n, int64_t axes[static TAKT_MAX_RANK])
{
    const int64_t layout = n->attr[LAYOUT].i64;
    const takt_type shape = split_shape(&n->type[0], n->attr[GROUPS].i64, layout);
    const int group = layout == TAKT_NHWC ? shape.rank - 2 : 1;
    takt_reduction r = {.axes = axes, .keep = true};
    for (int i = 1; i < shape.rank; i++)
        if (i != group)
            axes[r.count++] = i;
    r.x = takt_reshape(g, n->in[0], shape.dim, (size_t)shape.rank);
    return takt_norm_make(g, &r, n->attr[EPSILON].f64, true);
}

/* One value for each channel, as the split shape has them. */
static takt_id split_vector(takt_graph *g, const takt_node *n, takt_id v)
{
    const bool is_first = n->attr[LAYOUT].i64 != TAKT_NHWC;
    const int64_t groups = n->attr[GROUPS].i64;
    takt_dim dim[TAKT_MAX_RANK] = {0};
    const int rank = is_first ? n->type[0].rank : 2;
    for (int i = 0; i < rank; i++)
        dim[i] = 1;
    dim[0] = groups;
    dim[1] = n->type[0].dim[is_first ? 1 : n->type[0].rank - 1] / groups;
    return v == TAKT_NONE ? v : takt_reshape(g, v, dim, (size_t)rank);
}

/* Scaled and shifted while split, so that it fuses with the preceding operations. */
static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    int64_t axes[TAKT_MAX_RANK];
    const takt_norm norm = normalise(g, n, axes);
    const takt_id normal = takt_cast(g, norm.normal, n->type[0].dtype);
    const takt_id beta = n->in_count > 2 ? n->in[2] : TAKT_NONE;
    const takt_affine affine = {split_vector(g, n, n->in[1]), split_vector(g, n, beta)};
    out[0] = takt_reshape_like(g, takt_affine_apply(g, normal, &affine), n->in[0]);
}

static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_node node = *takt_node_at(g, id); /* a copy: nodes move as the graph grows */
    const takt_dtype dtype = node.type[0].dtype;
    const int64_t layout = node.attr[LAYOUT].i64;
    takt_id in[3];
    int64_t axes[TAKT_MAX_RANK];
    takt_norm_inputs(g, &node, layout, in);
    const takt_norm norm = normalise(g, &node, axes);
    const takt_id normal = takt_reshape_like(g, takt_cast(g, norm.normal, dtype), in[0]);
    const takt_id d = takt_mul(g, dy[0], in[1]);
    const takt_id wide = takt_norm_grad(g, &norm, takt_reshape_like(g, d, norm.normal));
    dx[0] = takt_reshape_like(g, takt_cast(g, wide, dtype), in[0]);
    takt_affine_grad(g, &node, layout, dy[0], normal, dx);
}

static void cost(const takt_graph *g, const takt_node *n, takt_cost *c)
{
    takt_cost_of_input(g, n, 8, c);
}

const takt_op takt_op_group_norm = {
    .name = "group_norm",
    .summary = "mean 0 and variance 1 in each group of channels, times gamma, plus beta",
    .in_min = 2,
    .in_max = 3,
    .in_names = {"x", "gamma", "beta"},
    .attrs = {[GROUPS] = {.name = "groups",
                          .type = TAKT_ATTR_I64,
                          .is_required = true,
                          .onnx = "num_groups",
                          .summary = "how many groups; must divide the channels"},
              [EPSILON] = {.name = "epsilon",
                           .type = TAKT_ATTR_F64,
                           .fallback.f64 = 1e-5,
                           .summary = "added to the variance"},
              [LAYOUT] = {.name = "layout",
                          .type = TAKT_ATTR_ENUM,
                          .names = takt_layout_names,
                          .summary = "channels are axis 1 (nchw) or the last (nhwc)"}},
    .traits = TAKT_WIDENS,
    .dtypes = TAKT_FLOATS,
    .infer = infer,
    .eval = eval,
    .grad = grad,
    .lower = lower,
    .cost = cost,
    .samples = {"group_norm(f32[2, 4, 3, 2], f32[4], f32[4], groups=2)",
                "group_norm(f64[2, 3, 6], f64[6], f64[6], groups=3, layout=nhwc)",
                "group_norm(f32[1, 6, 5], f32[6], groups=1, epsilon=0.001)",
                "group_norm(f16[2, 4, 5], f16[4], groups=2)"},
};
