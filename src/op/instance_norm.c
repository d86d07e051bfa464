/* instance_norm.c - mean 0 and variance 1 in each channel of each sample. */
#include "ir/infer.h"
#include "op/util/formula.h"
#include "op/util/norm.h"

enum { EPSILON, LAYOUT };

static takt_status infer(takt_infer *in)
{
    TAKT_TRY(takt_infer_rank(in, 0, 3, TAKT_MAX_RANK));
    const takt_type *x = in->type[0];
    const takt_dim channels = x->dim[in->attr[LAYOUT].i64 == TAKT_NHWC ? x->rank - 1 : 1];
    for (size_t i = 1; i < in->in_count; i++)
        if (takt_infer_has(in, i))
            TAKT_TRY(takt_infer_vector(in, i, channels));
    in->out[0] = *x;
    return TAKT_OK;
}

static takt_status eval(takt_eval *e)
{
    const takt_array *x = &e->in[0];
    const int64_t layout = e->attr[LAYOUT].i64;
    const int64_t channels = x->dim[layout == TAKT_NHWC ? x->rank - 1 : 1];
    return takt_group_eval(e, (size_t)channels, e->attr[EPSILON].f64, layout);
}

/* `axes` has room for the list that the result points to. */
static takt_norm normalise(takt_graph *g, const takt_node *n, int64_t axes[static TAKT_MAX_RANK])
{
    const int rank = n->type[0].rank;
    const int channel = n->attr[LAYOUT].i64 == TAKT_NHWC ? rank - 1 : 1;
    takt_reduction r = {.x = n->in[0], .axes = axes, .keep = true};
    for (int i = 1; i < rank; i++)
        if (i != channel)
            axes[r.count++] = i;
    return takt_norm_make(g, &r, n->attr[EPSILON].f64, true);
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    takt_id in[3];
    int64_t axes[TAKT_MAX_RANK];
    takt_norm_inputs(g, n, n->attr[LAYOUT].i64, in);
    const takt_norm norm = normalise(g, n, axes);
    const takt_affine affine = {in[1], in[2]};
    out[0] = takt_affine_apply(g, takt_cast(g, norm.normal, n->type[0].dtype), &affine);
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
    const takt_id d = takt_mul(g, dy[0], in[1]);
    dx[0] = takt_cast(g, takt_norm_grad(g, &norm, d), dtype);
    takt_affine_grad(g, &node, layout, dy[0], takt_cast(g, norm.normal, dtype), dx);
}

static void cost(const takt_graph *g, const takt_node *n, takt_cost *c)
{
    takt_cost_of_input(g, n, 8, c);
}

const takt_op takt_op_instance_norm = {
    .name = "instance_norm",
    .summary = "mean 0 and variance 1 in each channel of each sample, times gamma, plus beta",
    .onnx = {{"InstanceNormalization", 6, 0}},
    .in_min = 2,
    .in_max = 3,
    .in_names = {"x", "gamma", "beta"},
    .attrs = {[EPSILON] = {.name = "epsilon",
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
    .samples = {"instance_norm(f32[2, 3, 4, 2], f32[3], f32[3])",
                "instance_norm(f64[2, 5, 3], f64[3], f64[3], layout=nhwc)",
                "instance_norm(f32[1, 2, 7], f32[2], epsilon=0.001)",
                "instance_norm(f16[2, 2, 5], f16[2])"},
};
