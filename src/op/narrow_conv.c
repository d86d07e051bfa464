/* narrow_conv.c - convolution of bf16 values with the usual steps after it, rounded once.
 *
 * The pass `narrow-activations` creates it from f32 convolutions under `numerics = fast`, so that
 * activations take 16 bits in memory: docs/numerics.md.
 */
#include "op/util/narrow.h"

#include "ir/infer.h"

enum { MIN = TAKT_NARROW_MIN, MAX = TAKT_NARROW_MAX };

static takt_status infer(takt_infer *in)
{
    for (size_t k = 0; k < in->in_count; k++)
        if (k != TAKT_NARROW_BIAS && takt_infer_has(in, k))
            TAKT_TRY(takt_infer_dtype(in, k, TAKT_IN(TAKT_BF16), "bf16"));
    TAKT_TRY(takt_conv_infer(in, in->type[0], in->type[1], &in->out[0]));
    if (takt_infer_has(in, TAKT_NARROW_BIAS)) {
        TAKT_TRY(takt_infer_dtype(in, TAKT_NARROW_BIAS, TAKT_IN(TAKT_F32), "f32"));
        TAKT_TRY(takt_infer_vector(in, TAKT_NARROW_BIAS, in->type[1]->dim[0]));
    }
    if (takt_infer_has(in, TAKT_NARROW_RESIDUAL))
        TAKT_TRY(takt_check_shape(in, TAKT_NARROW_RESIDUAL, &in->out[0], "the result's shape"));
    const takt_attr *low = &in->attr[MIN], *high = &in->attr[MAX];
    if (low->is_set && high->is_set && !(low->f64 <= high->f64))
        return takt_infer_fail(in, TAKT_E_ATTR, "min is %g and max is %g", low->f64, high->f64);
    return TAKT_OK;
}

static takt_id input(const takt_node *n, uint32_t k)
{
    return k < n->in_count ? n->in[k] : TAKT_NONE;
}

/* A vector of channels, shaped to broadcast along their axis. */
static takt_id along(takt_graph *g, takt_id x, const takt_node *n)
{
    const int rank = n->type->rank;
    takt_dim dims[TAKT_MAX_RANK];
    if (n->attr[TAKT_CONV_LAYOUT].i64 == TAKT_NHWC)
        return x;
    dims[0] = takt_type_of(g, x)->dim[0];
    for (int d = 1; d < rank - 1; d++)
        dims[d] = 1;
    return takt_reshape(g, x, dims, (size_t)rank - 1);
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    const takt_id bias = input(n, TAKT_NARROW_BIAS), residual = input(n, TAKT_NARROW_RESIDUAL);
    takt_id y =
        takt_conv_make(g, n, takt_cast(g, n->in[0], TAKT_F32), takt_cast(g, n->in[1], TAKT_F32));
    if (bias != TAKT_NONE)
        y = takt_add(g, y, along(g, bias, n));
    if (residual != TAKT_NONE)
        y = takt_add(g, y, takt_cast(g, residual, TAKT_F32));
    if (n->attr[MIN].is_set)
        y = takt_binary(g, &takt_op_max, y, takt_scalar_like(g, y, n->attr[MIN].f64));
    if (n->attr[MAX].is_set)
        y = takt_binary(g, &takt_op_min, y, takt_scalar_like(g, y, n->attr[MAX].f64));
    out[0] = takt_cast(g, y, TAKT_BF16);
}

const takt_op takt_op_narrow_conv = {
    .name = "narrow_conv",
    .summary = "convolution of bf16, then + bias, + residual, at least min, at most max: summed in "
               "f32, rounded once",
    .in_min = 2,
    .in_max = TAKT_NARROW_INPUTS,
    .in_names = {"x", "w", "bias", "residual"},
    .attrs = {TAKT_CONV_ATTRS,
              [MIN] = {.name = "min",
                       .type = TAKT_ATTR_F64,
                       .is_optional = true,
                       .summary = "the least result; no bound if not given"},
              [MAX] = {.name = "max",
                       .type = TAKT_ATTR_F64,
                       .is_optional = true,
                       .summary = "the greatest result; no bound if not given"}},
    .traits = TAKT_CONTRACTS,
    .dtypes = TAKT_IN(TAKT_BF16) | TAKT_IN(TAKT_F32),
    .is_mixed = true,
    .infer = infer,
    .lower = lower,
    .cost = takt_conv_y_cost,
    .samples = {"narrow_conv(bf16[2, 5, 6, 3], bf16[4, 3, 3, 3], f32[4], bf16[2, 5, 6, 4], "
                "pad=[1, 1, 1, 1], layout=nhwc, min=0, max=6)",
                "narrow_conv(bf16[1, 7, 5, 6], bf16[4, 3, 2, 6], stride=[2, 1], pad=[1, 0, 0, 2], "
                "layout=nhwc)",
                "narrow_conv(bf16[1, 4, 9, 6], bf16[6, 3, 3, 1], f32[6], groups=6, "
                "pad=[1, 1, 1, 1], layout=nhwc, min=0)",
                "narrow_conv(bf16[1, 3, 5, 4], bf16[4, 3, 1, 1], f32[4], max=1)",
                "narrow_conv(bf16[2, 3, 5, 17], bf16[18, 1, 1, 17], f32[18], bf16[2, 3, 5, 18], "
                "layout=nhwc)"},
};
