/* semiring_matmul.c - products of matrices where + and * are other operations.
 *
 * Rules of logic become these: "there is a y with a(x, y) and b(y, z)" is a product over y, and
 * nothing of size x * y * z is ever built. Every rounding is part of the definition, as in the
 * contract of kernel/semiring_f32, so all backends give the same bits.
 */
#include "op/record/semiring_matmul_grad.h"
#include "op/util/make.h"
#include "op/util/semiring.h"
#include "op/util/stops.h"

static void unite(const takt_eval *e, const takt_semiring_sizes *z)
{
    const size_t words = z->k / 64 + (z->k % 64 != 0);
    const int64_t *a = e->in[0].i, *b = e->in[1].i;
    int64_t *c = e->out[0].i;
    for (size_t r = 0; r < z->batch * z->m && !takt_eval_stops(e, z->k * z->n); r++)
        for (size_t k = 0; k < z->k; k++) {
            const int64_t all = -(int64_t)((uint64_t)a[r * words + k / 64] >> k % 64 & 1);
            for (size_t j = 0; j < z->n; j++)
                c[r * z->n + j] |= b[(r / z->m * z->k + k) * z->n + j] & all;
        }
}

static takt_status eval(takt_eval *e)
{
    const takt_semiring_sizes z = takt_semiring_sizes_in(e);
    if (e->in[0].dtype == TAKT_U64) {
        unite(e, &z);
        return TAKT_OK;
    }
    const takt_semiring_math math = takt_semiring_math_of(e->node);
    for (size_t r = 0; r < z.batch * z.m && !takt_eval_stops(e, z.k * z.n); r++)
        takt_semiring_row(&math, &z, e->in[0].f + r * z.k, e->in[1].f + r / z.m * z.k * z.n,
                          e->out[0].f + r * z.n);
    return TAKT_OK;
}

static takt_id swapped(takt_graph *g, takt_id x)
{
    int64_t perm[TAKT_MAX_RANK];
    const int rank = takt_type_of(g, x)->rank;
    for (int d = 0; d < rank; d++)
        perm[d] = d < rank - 2 ? d : 2 * rank - 3 - d;
    return takt_transpose(g, x, perm, (size_t)rank);
}

/* All of these products commute: rules for a apply to b in the transposed product. */
static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_node n = *takt_node_at(g, id);
    const takt_named_attr attr = {"semiring", n.attr[TAKT_SEMIRING]};
    if (takt_type_of(g, id)->dtype == TAKT_U64)
        return;
    const takt_id a[] = {n.in[0], n.in[1], dy[0]};
    const takt_id b[] = {swapped(g, n.in[1]), swapped(g, n.in[0]), swapped(g, dy[0])};
    dx[0] = takt_graph_call(g, &takt_op_semiring_matmul_grad, 3, a, 1, &attr);
    dx[1] = swapped(g, takt_graph_call(g, &takt_op_semiring_matmul_grad, 3, b, 1, &attr));
}

static void cost(const takt_graph *g, const takt_node *n, takt_cost *cost)
{
    const takt_type *b = takt_type_of(g, n->in[1]);
    const takt_dim inner = b->dim[b->rank - 2];
    cost->flops = 2 * takt_make_count(&n->type[0]) * (double)(inner > 0 ? inner : 0);
    cost->bytes = takt_make_bytes(g, n);
}

const takt_op takt_op_semiring_matmul = {
    .name = "semiring_matmul",
    .summary = "product of matrices over a semiring, of truth values, lengths or bits",
    .in_min = 2,
    .in_max = 2,
    .in_names = {"a", "b"},
    .attrs = {TAKT_SEMIRING_ATTR(
        "max_min, max_mul: the largest, at least 0; min_add: the least a + b; noisy_or: 1 less the "
        "product of 1 - a * b; lukasiewicz: min(1, sum of max(0, a + b - 1)); or_and: of u64, 64 "
        "bits a word, a [m, ceil(k / 64)] and b [k, n]")},
    .traits = TAKT_PRIMITIVE | TAKT_CONTRACTS,
    .dtypes = TAKT_IN(TAKT_F32) | TAKT_IN(TAKT_F64) | TAKT_IN(TAKT_U64),
    .infer = takt_semiring_infer,
    .eval = eval,
    .grad = grad,
    .cost = cost,
    .no_bound = "sums of a semiring are not followed",
    .samples =
        {"semiring_matmul(f32[3, 5] in (0, 1), f32[5, 4] in (0, 1), semiring=max_min)",
         "semiring_matmul(f32[2, 7] in (0, 1), f32[7, 9] in (0, 1), semiring=max_mul)",
         "semiring_matmul(f32[2, 3, 4] in (0, 9), f32[2, 4, 5] in (0, 9), semiring=min_add)",
         "semiring_matmul(f32[3, 6] in (0, 1), f32[6, 4] in (0, 1), semiring=noisy_or)",
         "semiring_matmul(f32[3, 2] in (0.3, 0.7), f32[2, 17] in (0.4, 0.8), semiring=lukasiewicz)",
         "semiring_matmul(f64[4, 3] in (0, 1), f64[3, 2] in (0, 1), semiring=noisy_or)",
         "semiring_matmul(u64[3, 2], u64[70, 3], semiring=or_and)",
         "semiring_matmul(u64[2, 3, 1], u64[2, 64, 2], semiring=or_and)"},
};
