/* lrn.c - local response normalisation over neighbouring channels (axis 1). */
#include <math.h>

#include "ir/infer.h"
#include "op/util/formula.h"
#include "op/util/stops.h"

enum { SIZE, ALPHA, BETA, BIAS };

static takt_status infer(takt_infer *in)
{
    TAKT_TRY(takt_infer_rank(in, 0, 2, TAKT_MAX_RANK));
    if (in->attr[SIZE].i64 < 1)
        return takt_infer_fail(in, TAKT_E_ATTR, "size must be at least 1, but is %lld",
                               (long long)in->attr[SIZE].i64);
    if (!takt_dim_is_number(in->type[0]->dim[1]))
        return takt_infer_fail(in, TAKT_E_SHAPE, "the number of channels must be known");
    in->out[0] = *in->type[0];
    return TAKT_OK;
}

static takt_status eval(takt_eval *e)
{
    const takt_array *x = &e->in[0];
    const int64_t size = e->attr[SIZE].i64, channels = x->dim[1];
    const int64_t before = (size - 1) / 2, after = size / 2;
    size_t inner = 1;
    for (int i = 2; i < x->rank; i++)
        inner *= (size_t)x->dim[i];
    for (size_t i = 0;
         i < x->count && !takt_eval_stops(e, (size_t)(size < channels ? size : channels)); i++) {
        const int64_t c = (int64_t)(i / inner) % channels;
        const int64_t low = before > c ? -c : -before;
        const int64_t high = after > channels - 1 - c ? channels - 1 - c : after;
        double sum = 0;
        for (int64_t k = low; k <= high; k++) {
            const double y = x->f[(size_t)((int64_t)i + k * (int64_t)inner)];
            sum += y * y;
        }
        const double base = e->attr[BIAS].f64 + e->attr[ALPHA].f64 / (double)size * sum;
        e->out[0].f[i] = x->f[i] / pow(base, e->attr[BETA].f64);
    }
    return TAKT_OK;
}

/* The sum of channels c - before .. c + after for every c: shifted copies of a padded x. */
static takt_id window_sum(takt_graph *g, takt_id x, int64_t before, int64_t after)
{
    if (x == TAKT_NONE)
        return TAKT_NONE;
    const takt_type *type = takt_type_of(g, x);
    const int64_t channels = type->dim[1];
    const int64_t low = before < channels ? before : channels,
                  high = after < channels ? after : channels;
    int64_t head[TAKT_MAX_RANK] = {0}, tail[TAKT_MAX_RANK] = {0};
    head[1] = low;
    tail[1] = high;
    const takt_named_attr attrs[] = {{"before", takt_attr_i64s(head, (size_t)type->rank)},
                                     {"after", takt_attr_shape(tail, (size_t)type->rank)}};
    const takt_id padded = takt_graph_call(g, &takt_op_pad, 1, &x, 2, attrs);
    takt_id sum = takt_slice(g, padded, 1, 0, channels, 1);
    for (int64_t k = 1; k <= low + high && sum != TAKT_NONE; k++)
        sum = takt_add(g, sum, takt_slice(g, padded, 1, k, k + channels, 1));
    return sum;
}

/* bias + alpha / size * sum of squares. */
static takt_id base_of(takt_graph *g, takt_id x, const takt_attr *attr)
{
    const int64_t size = attr[SIZE].i64;
    const takt_id sum = window_sum(g, takt_square(g, x), (size - 1) / 2, size / 2);
    const takt_id scaled = takt_mul_scalar(g, sum, attr[ALPHA].f64 / (double)size);
    return takt_add_scalar(g, scaled, attr[BIAS].f64);
}

static takt_id power(takt_graph *g, takt_id base, double exponent)
{
    return takt_binary(g, &takt_op_pow, base, takt_scalar_like(g, base, exponent));
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    const takt_id x = n->in[0];
    const takt_attr *attr = n->attr;
    out[0] = takt_div(g, x, power(g, base_of(g, x, attr), attr[BETA].f64));
}

/* dy base^-beta - 2 alpha beta / size * x * W(dy x base^(-beta-1)), where W sums over the windows
 * that contain x: the mirrored window. */
static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_id x = takt_node_at(g, id)->in[0];
    const takt_attr *attr = takt_node_at(g, id)->attr;
    const int64_t size = attr[SIZE].i64;
    const takt_id base = base_of(g, x, attr);
    const takt_id share = takt_div(g, dy[0], power(g, base, attr[BETA].f64));
    const takt_id inner = takt_div(g, takt_mul(g, share, x), base);
    const takt_id sum = window_sum(g, inner, size / 2, (size - 1) / 2);
    const double factor = 2 * attr[ALPHA].f64 * attr[BETA].f64 / (double)size;
    dx[0] = takt_sub(g, share, takt_mul_scalar(g, takt_mul(g, x, sum), factor));
}

static void cost(const takt_graph *g, const takt_node *n, takt_cost *c)
{
    takt_cost_of_input(g, n, 23 + (double)n->attr[SIZE].i64, c);
}

const takt_op takt_op_lrn = {
    .name = "lrn",
    .summary = "x / (bias + alpha / size * sum of squares of neighbouring channels)^beta",
    .onnx = {{"LRN", 1, 0}},
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .attrs = {[SIZE] = {.name = "size",
                        .type = TAKT_ATTR_I64,
                        .is_required = true,
                        .summary = "how many channels a window spans"},
              [ALPHA] = {.name = "alpha",
                         .type = TAKT_ATTR_F64,
                         .fallback.f64 = 1e-4,
                         .summary = "the weight of the squares"},
              [BETA] = {.name = "beta",
                        .type = TAKT_ATTR_F64,
                        .fallback.f64 = 0.75,
                        .summary = "the exponent"},
              [BIAS] = {.name = "bias",
                        .type = TAKT_ATTR_F64,
                        .fallback.f64 = 1,
                        .summary = "what the squares are added to"}},
    .dtypes = TAKT_FLOATS,
    .infer = infer,
    .eval = eval,
    .grad = grad,
    .lower = lower,
    .cost = cost,
    .samples = {"lrn(f32[2, 5, 3], size=3, alpha=0.5)", "lrn(f64[1, 4, 2, 2], size=4, alpha=1)",
                "lrn(f32[2, 3], size=9, alpha=1, beta=0.5, bias=2)", "lrn(f16[1, 2, 3], size=1)"},
};
