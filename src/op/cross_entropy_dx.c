/* cross_entropy_dx.c - gradient of cross_entropy with respect to the logits, for labels that are
 * class numbers.
 *
 * (softmax - 1 at the label) * dy for every row; rows whose label is ignored get zeros. dy is one
 * number for all rows or one for each. A label that is not a class matches no element.
 */
#include "ir/infer.h"
#include "op/util/entropy.h"
#include "op/util/formula.h"

enum { IGNORE };

static takt_status infer(takt_infer *in)
{
    TAKT_TRY(takt_infer_dtype(in, 0, TAKT_FLOATS, "a float type"));
    TAKT_TRY(takt_infer_rank(in, 0, 1, TAKT_MAX_RANK));
    TAKT_TRY(takt_infer_dtype(in, 1, TAKT_IN(TAKT_I32) | TAKT_IN(TAKT_I64), "i32 or i64"));
    const takt_type *x = in->type[0], *dy = in->type[2];
    if (dy->dtype != x->dtype)
        return takt_infer_fail(in, TAKT_E_DTYPE, "dy must have the dtype of the logits");
    for (size_t k = 1; k < 3; k++) {
        const takt_type *t = in->type[k];
        bool fits = t->rank == x->rank - 1 || (k == 2 && t->rank == 0);
        for (int i = 0; fits && i < t->rank; i++)
            fits = takt_dim_unify(in->dims, t->dim[i], x->dim[i]) == TAKT_OK;
        if (!fits)
            return takt_infer_fail(in, TAKT_E_SHAPE,
                                   "%s must have the shape of the logits without the last axis",
                                   k == 1 ? "labels" : "dy that is not a scalar");
    }
    in->out[0] = *x;
    return TAKT_OK;
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    const takt_attr ignore = n->attr[IGNORE];
    const takt_dtype dtype = n->type[0].dtype;
    const takt_entropy ce = takt_entropy_make(g, n, 0, &ignore);
    const takt_id seed = takt_entropy_seed(g, &ce, takt_widen(g, n->in[2]));
    const takt_id softmax = takt_unary(g, &takt_op_exp, ce.log_p);
    const takt_id slope = takt_sub(g, softmax, takt_entropy_target(g, &ce));
    out[0] = takt_cast(g, takt_mul(g, slope, seed), dtype);
}

static void cost(const takt_graph *g, const takt_node *n, takt_cost *c)
{
    takt_cost_of_input(g, n, 16, c);
}

const takt_op takt_op_cross_entropy_dx = {
    .name = "cross_entropy_dx",
    .summary = "gradient of cross_entropy: (softmax - 1 at the label) * dy for every row",
    .in_min = 3,
    .in_max = 3,
    .in_names = {"logits", "labels", "dy"},
    .attrs = {[IGNORE] = {.name = "ignore",
                          .type = TAKT_ATTR_I64,
                          .is_optional = true,
                          .summary = "rows with this label get zeros"}},
    .dtypes = TAKT_FLOATS | TAKT_IN(TAKT_I32) | TAKT_IN(TAKT_I64),
    .is_mixed = true,
    .infer = infer,
    .lower = lower,
    .cost = cost,
    .samples = {"cross_entropy_dx(f32[4, 3], i64[4] in (0, 2), f32[])",
                "cross_entropy_dx(f32[2, 3, 17], i32[2, 3] in (-17, 16), f32[2, 3], ignore=2)",
                "cross_entropy_dx(f64[5], i64[] in (0, 4), f64[])",
                "cross_entropy_dx(f16[2, 6], i32[2] in (0, 5), f16[2])"},
};
