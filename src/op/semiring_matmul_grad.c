/* semiring_matmul_grad.c - gradient of a product over a semiring with respect to its left side.
 *
 * It is correct where a factor is 0 or 1: noisy_or does not divide by factors, and terms that equal
 * the extreme share the gradient, as in reduce_max.
 */
#include "op/util/check.h"
#include "op/util/make.h"
#include "op/util/semiring.h"
#include "op/util/stops.h"

static takt_status infer(takt_infer *in)
{
    if (in->attr[TAKT_SEMIRING].i64 == TAKT_SEMIRING_OR_AND)
        return takt_infer_fail(in, TAKT_E_ATTR, "or_and has no gradient");
    TAKT_TRY(takt_semiring_infer(in));
    const takt_type y = in->out[0];
    TAKT_TRY(takt_check_shape(in, 2, &y, "the product of a and b"));
    in->out[0] = *in->type[0];
    return TAKT_OK;
}

static takt_status eval(takt_eval *e)
{
    const takt_semiring_sizes z = takt_semiring_sizes_in(e);
    const takt_semiring_math math = takt_semiring_math_of(e->node);
    double *room = takt_arena_array(e->scratch, z.k + 1, sizeof *room);
    if (room == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t r = 0; r < z.batch * z.m && !takt_eval_stops(e, 4 * z.k * z.n); r++) {
        const takt_semiring_grad row = {e->in[0].f + r * z.k, e->in[1].f + r / z.m * z.k * z.n,
                                        e->in[2].f + r * z.n, e->out[0].f + r * z.k, room};
        takt_semiring_grad_row(&math, &z, &row);
    }
    return TAKT_OK;
}

static void cost(const takt_graph *g, const takt_node *n, takt_cost *cost)
{
    const takt_type *b = takt_type_of(g, n->in[1]);
    const takt_dim columns = b->dim[b->rank - 1];
    cost->flops = 8 * takt_make_count(&n->type[0]) * (double)(columns > 0 ? columns : 0);
    cost->bytes = takt_make_bytes(g, n);
}

const takt_op takt_op_semiring_matmul_grad = {
    .name = "semiring_matmul_grad",
    .summary = "gradient of semiring_matmul with respect to a",
    .in_min = 3,
    .in_max = 3,
    .in_names = {"a", "b", "dy"},
    .attrs = {TAKT_SEMIRING_ATTR("as semiring_matmul has it, but not or_and")},
    .traits = TAKT_PRIMITIVE | TAKT_CONTRACTS,
    .dtypes = TAKT_IN(TAKT_F32) | TAKT_IN(TAKT_F64),
    .infer = infer,
    .eval = eval,
    .cost = cost,
    .no_gradient = "it is a gradient that jumps where terms are equal",
    .no_bound = "sums of a semiring are not followed",
    .samples = {"semiring_matmul_grad(f32[3, 5] in (0, 1), f32[5, 4] in (0, 1), f32[3, 4], "
                "semiring=max_min)",
                "semiring_matmul_grad(f32[2, 7] in (0, 1), f32[7, 9] in (0, 1), f32[2, 9], "
                "semiring=max_mul)",
                "semiring_matmul_grad(f32[2, 3, 4] in (0, 9), f32[2, 4, 5] in (0, 9), "
                "f32[2, 3, 5], semiring=min_add)",
                "semiring_matmul_grad(f32[3, 6] in (0, 1), f32[6, 4] in (0, 1), f32[3, 4], "
                "semiring=noisy_or)",
                "semiring_matmul_grad(f32[2, 300] in (0, 1), f32[300, 3] in (0, 1), f32[2, 3], "
                "semiring=noisy_or)",
                "semiring_matmul_grad(f32[3, 2] in (0.3, 0.7), f32[2, 17] in (0.4, 0.8), "
                "f32[3, 17], semiring=lukasiewicz)",
                "semiring_matmul_grad(f64[4, 3] in (0, 1), f64[3, 2] in (0, 1), f64[4, 2], "
                "semiring=noisy_or)"},
};
