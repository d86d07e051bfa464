/* clip.c - x clamped between two numbers, either of which may be missing. */
#include <math.h>

#include "ir/infer.h"
#include "op/util/formula.h"
#include "op/util/relax.h"

enum { MIN, MAX };

static takt_status infer(takt_infer *in)
{
    const takt_attr *low = &in->attr[MIN], *high = &in->attr[MAX];
    if (low->is_set && high->is_set && !(low->f64 <= high->f64))
        return takt_infer_fail(in, TAKT_E_ATTR, "min is %g and max is %g", low->f64, high->f64);
    return takt_infer_elementwise(in);
}

static double eval_f(takt_scalar *s, const double *x)
{
    const takt_attr *low = &s->attr[MIN], *high = &s->attr[MAX];
    if (low->is_set && x[0] < low->f64)
        return low->f64;
    return high->is_set && x[0] > high->f64 ? high->f64 : x[0];
}

static int64_t eval_i(takt_scalar *s, const int64_t *x)
{
    const bool is_u64 = s->dtype == TAKT_U64;
    if (s->attr[MIN].is_set) {
        const int64_t low = takt_dtype_from_double(s->dtype, s->attr[MIN].f64);
        if (is_u64 ? (uint64_t)x[0] < (uint64_t)low : x[0] < low)
            return low;
    }
    if (s->attr[MAX].is_set) {
        const int64_t high = takt_dtype_from_double(s->dtype, s->attr[MAX].f64);
        if (is_u64 ? (uint64_t)x[0] > (uint64_t)high : x[0] > high)
            return high;
    }
    return x[0];
}

/* 1 from bound to bound inclusive, as in PyTorch. */
static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_id x = takt_node_at(g, id)->in[0];
    const takt_attr *attr = takt_node_at(g, id)->attr;
    dx[0] = dy[0];
    if (attr[MIN].is_set) {
        const takt_id low = takt_scalar_like(g, x, attr[MIN].f64);
        dx[0] = takt_keep_where(g, takt_binary(g, &takt_op_le, low, x), dx[0]);
    }
    if (attr[MAX].is_set) {
        const takt_id high = takt_scalar_like(g, x, attr[MAX].f64);
        dx[0] = takt_keep_where(g, takt_binary(g, &takt_op_le, x, high), dx[0]);
    }
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    const takt_attr *attr = n->attr;
    takt_id x = n->in[0];
    if (attr[MIN].is_set)
        x = takt_binary(g, &takt_op_max, x, takt_scalar_like(g, x, attr[MIN].f64));
    if (attr[MAX].is_set)
        x = takt_binary(g, &takt_op_min, x, takt_scalar_like(g, x, attr[MAX].f64));
    out[0] = x;
}

static void relax(takt_relaxing *r)
{
    const takt_attr *low = &r->node->attr[MIN], *high = &r->node->attr[MAX];
    takt_relax_clip(r, low->is_set ? low->f64 : -INFINITY, high->is_set ? high->f64 : INFINITY);
}

const takt_op takt_op_clip = {
    .name = "clip",
    .summary = "x, at least min and at most max",
    .onnx = {{"Clip", 6, 10}},
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .attrs = {[MIN] = {.name = "min",
                       .type = TAKT_ATTR_F64,
                       .is_optional = true,
                       .summary = "the least result; no bound if not given"},
              [MAX] = {.name = "max",
                       .type = TAKT_ATTR_F64,
                       .is_optional = true,
                       .summary = "the greatest result; no bound if not given"}},
    .traits = TAKT_ELEMENTWISE,
    .dtypes = TAKT_NUMBERS,
    .infer = infer,
    .scalar_f = eval_f,
    .scalar_i = eval_i,
    .grad = grad,
    .lower = lower,
    .flops_per_element = 2,
    .relax = relax,
    .samples = {"clip(f32[2, 3], min=-0.5, max=0.5)", "clip(f64[7], min=0)",
                "clip(f16[5], max=0.25)", "clip(i32[4, 2] in (-9, 9), min=-3, max=5)",
                "clip(u8[3] in (0, 9), max=4)", "clip(f32[])"},
};
