/* batch_norm.c - normalisation of channels by given statistics, as in inference. */
#include <math.h>

#include "ir/infer.h"
#include "op/util/formula.h"
#include "op/util/norm.h"
#include "op/util/stops.h"

enum { EPSILON, LAYOUT };
enum { X, SCALE, BIAS, MEAN, VAR };

static takt_status infer(takt_infer *in)
{
    TAKT_TRY(takt_infer_rank(in, X, 2, TAKT_MAX_RANK));
    const takt_type *x = in->type[X];
    const int channel = in->attr[LAYOUT].i64 == TAKT_NHWC ? x->rank - 1 : 1;
    for (size_t i = SCALE; i <= VAR; i++)
        TAKT_TRY(takt_infer_vector(in, i, x->dim[channel]));
    in->out[0] = *x;
    return TAKT_OK;
}

static takt_status eval(takt_eval *e)
{
    const takt_array *x = &e->in[X], *in = e->in;
    size_t inner = 1;
    for (int i = 2; i < x->rank && e->attr[LAYOUT].i64 == TAKT_NCHW; i++)
        inner *= (size_t)x->dim[i];
    for (size_t i = 0; i < x->count && !takt_eval_stops(e, 1); i++) {
        const size_t c = i / inner % in[SCALE].count;
        const double y = (x->f[i] - in[MEAN].f[c]) / sqrt(in[VAR].f[c] + e->attr[EPSILON].f64);
        e->out[0].f[i] = y * in[SCALE].f[c] + in[BIAS].f[c];
    }
    return TAKT_OK;
}

/* (x - mean) * (1 / sqrt(var + epsilon)), and that root. */
static takt_id normalise(takt_graph *g, const takt_node *n, takt_id *root)
{
    const takt_id *in = n->in;
    const int64_t layout = n->attr[LAYOUT].i64;
    const double epsilon = n->attr[EPSILON].f64;
    const int rank = takt_type_of(g, in[X])->rank;
    const takt_id distance = takt_sub(g, in[X], takt_per_channel(g, in[MEAN], rank, layout));
    const takt_id variance = takt_add_scalar(g, in[VAR], epsilon);
    *root = takt_reciprocal(g, takt_unary(g, &takt_op_sqrt, variance));
    return takt_mul(g, distance, takt_per_channel(g, *root, rank, layout));
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    const takt_id *in = n->in;
    const int64_t layout = n->attr[LAYOUT].i64;
    const int rank = n->type[0].rank;
    takt_id root;
    const takt_id normal = normalise(g, n, &root);
    const takt_affine affine = {takt_per_channel(g, in[SCALE], rank, layout),
                                takt_per_channel(g, in[BIAS], rank, layout)};
    out[0] = takt_affine_apply(g, normal, &affine);
}

/* With r = 1 / sqrt(var + epsilon): scale r; sum(dy normal); sum(dy); -sum(dy) scale r;
 * -sum(dy normal) scale r^2 / 2. */
static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_node node = *takt_node_at(g, id); /* a copy: nodes move as the graph grows */
    const takt_id *in = node.in;
    const int64_t layout = node.attr[LAYOUT].i64;
    const int rank = node.type[0].rank;
    takt_id root;
    const takt_id normal = normalise(g, &node, &root);
    const takt_id slope = takt_mul(g, in[SCALE], root);
    dx[X] = takt_mul(g, dy[0], takt_per_channel(g, slope, rank, layout));
    dx[SCALE] = takt_sum_per_channel(g, takt_mul(g, dy[0], normal), layout);
    dx[BIAS] = takt_sum_per_channel(g, dy[0], layout);
    dx[MEAN] = takt_neg(g, takt_mul(g, dx[BIAS], slope));
    const takt_id bend = takt_mul_scalar(g, takt_mul(g, slope, root), -0.5);
    dx[VAR] = takt_mul(g, dx[SCALE], bend);
}

static void cost(const takt_graph *g, const takt_node *n, takt_cost *c)
{
    takt_cost_of_input(g, n, 4, c);
}

const takt_op takt_op_batch_norm = {
    .name = "batch_norm",
    .summary = "(x - mean) / sqrt(var + epsilon) * scale + bias, per channel",
    .in_min = 5,
    .in_max = 5,
    .in_names = {"x", "scale", "bias", "mean", "var"},
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
    .samples = {"batch_norm(f32[2, 3, 4, 5], f32[3], f32[3], f32[3], f32[3] in (0.2, 3))",
                "batch_norm(f64[4, 2], f64[2], f64[2], f64[2], f64[2] in (0.2, 3))",
                "batch_norm(f32[2, 5, 3], f32[3], f32[3], f32[3], f32[3] in (0.2, 3), layout=nhwc)",
                "batch_norm(f16[1, 2, 3], f16[2], f16[2], f16[2], f16[2] in (0.2, 3), "
                "epsilon=0.001)"},
};
