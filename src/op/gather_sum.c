/* gather_sum.c - weighted sums of elements at given indices along an axis: interpolation.
 *
 * x is [batch, ..., size, ...] with `size` at `axis`; index and weight are [batch, taps, places]:
 * element p of the result along the axis is the sum over k of x at index[k, p] times weight[k, p].
 * Where `inside`, if given, is false, the element counts as 0. Products and sums are rounded one by
 * one, in the order of the taps.
 */
#include "op/util/check.h"
#include "op/util/index.h"
#include "op/util/make.h"
#include "op/util/stops.h"

enum { AXIS, BATCH_DIMS };
enum { X, INDEX, WEIGHT, INSIDE };
enum { MOST_TAPS = 1 << 16 };

static takt_status mismatch(takt_infer *in, const char *what)
{
    char x[TAKT_TYPE_TEXT], index[TAKT_TYPE_TEXT];
    return takt_fail(in->ctx, TAKT_E_SHAPE, "gather_sum: %s: x is %s, index is %s", what,
                     takt_type_text(in->dims, in->type[X], x),
                     takt_type_text(in->dims, in->type[INDEX], index));
}

static takt_status check_inside(takt_infer *in)
{
    if (in->in_count <= INSIDE || in->type[INSIDE] == NULL)
        return TAKT_OK;
    TAKT_TRY(takt_infer_dtype(in, INSIDE, TAKT_IN(TAKT_BOOL), "bool"));
    return takt_check_shape(in, INSIDE, in->type[INDEX], "index");
}

static takt_status infer(takt_infer *in)
{
    const takt_type *x = in->type[X], *index = in->type[INDEX];
    int axis = 0;
    TAKT_TRY(takt_check_index(in, INDEX));
    TAKT_TRY(takt_check_same_dtype(in, X, WEIGHT));
    TAKT_TRY(takt_infer_dtype(in, X, TAKT_FLOATS, "a float"));
    TAKT_TRY(takt_check_axis(in, in->attr[AXIS].i64, x->rank, &axis));
    TAKT_TRY(takt_check_range(in, BATCH_DIMS, 0, axis));
    const int batch = (int)in->attr[BATCH_DIMS].i64;
    if (index->rank != batch + 2)
        return mismatch(in, "index must have the batch dimensions, then taps and places");
    for (int d = 0; d < batch; d++)
        TAKT_TRY(takt_check_dims(in, X, d, INDEX, d));
    const takt_dim taps = index->dim[batch];
    if (!takt_dim_is_number(taps) || taps < 1 || taps > MOST_TAPS)
        return mismatch(in, "the number of taps must be a number from 1 to 65536");
    TAKT_TRY(takt_check_shape(in, WEIGHT, index, "index"));
    TAKT_TRY(check_inside(in));
    in->out[0] = *x;
    in->out[0].dim[axis] = index->dim[batch + 1];
    return TAKT_OK;
}

/* Sizes: x is [batch, outer, size, inner]. */
typedef struct sizes {
    size_t batch, outer, size, inner, taps, places;
} sizes;

static sizes sizes_of(const takt_eval *e)
{
    const takt_array *x = &e->in[X], *index = &e->in[INDEX];
    const int64_t given = e->attr[AXIS].i64;
    const int axis = (int)(given < 0 ? given + x->rank : given),
              batch = (int)e->attr[BATCH_DIMS].i64;
    return (sizes){takt_index_span(x, 0, batch), takt_index_span(x, batch, axis),
                   (size_t)x->dim[axis],         takt_index_span(x, axis + 1, x->rank),
                   (size_t)index->dim[batch],    (size_t)index->dim[batch + 1]};
}

/* Adds tap `at` of index to all results at its position. */
static takt_status add_tap(takt_eval *e, const sizes *s, size_t at)
{
    const size_t b = at / s->places / s->taps, p = at % s->places;
    int64_t row = 0;
    TAKT_TRY(takt_index_read(e, INDEX, at, (int64_t)s->size, &row));
    const bool is_out = e->in_count > INSIDE && e->in[INSIDE].rank >= 0 && e->in[INSIDE].i[at] == 0;
    const double weight = e->in[WEIGHT].f[at];
    for (size_t o = b * s->outer; o < (b + 1) * s->outer; o++)
        for (size_t i = 0; i < s->inner; i++) {
            const double x = is_out ? 0 : e->in[X].f[(o * s->size + (size_t)row) * s->inner + i];
            e->out[0].f[(o * s->places + p) * s->inner + i] += x * weight;
        }
    return TAKT_OK;
}

static takt_status eval(takt_eval *e)
{
    const sizes s = sizes_of(e);
    for (size_t at = 0; at < e->in[INDEX].count && !takt_eval_stops(e, s.outer * s.inner); at++)
        TAKT_TRY(add_tap(e, &s, at));
    return TAKT_OK;
}

/* ---- lowering ---- */

typedef struct lowering {
    takt_graph *g;
    const takt_node *n;
    int axis, batch;
    takt_dim tap[TAKT_MAX_RANK]; /* shape of one tap: 1 except for batch and places */
} lowering;

/* Tap `k` of an input as [batch, 1, places, 1], which broadcasts. */
static takt_id tap_of(const lowering *l, takt_id from, int64_t k)
{
    const takt_id one = takt_slice(l->g, from, l->batch, k, k + 1, 1);
    return one == TAKT_NONE ? one : takt_reshape(l->g, one, l->tap, (size_t)l->n->type->rank);
}

static takt_id picked(const lowering *l, int64_t k)
{
    const takt_id x = l->n->in[X], index = l->n->in[INDEX];
    if (l->batch > 0) {
        const takt_id wide =
            takt_broadcast(l->g, tap_of(l, index, k), l->n->type->dim, (size_t)l->n->type->rank);
        return takt_make_axis(l->g, &takt_op_gather_elements, 2, (takt_id[]){x, wide}, l->axis);
    }
    const takt_id one = takt_slice(l->g, index, 0, k, k + 1, 1);
    if (one == TAKT_NONE)
        return one;
    const takt_id flat = takt_reshape(l->g, one, &l->n->type->dim[l->axis], 1);
    return takt_make_axis(l->g, &takt_op_gather, 2, (takt_id[]){x, flat}, l->axis);
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    const int64_t given = n->attr[AXIS].i64;
    lowering l = {.g = g,
                  .n = n,
                  .axis = (int)(given < 0 ? given + n->type->rank : given),
                  .batch = (int)n->attr[BATCH_DIMS].i64};
    for (int d = 0; d < n->type->rank; d++)
        l.tap[d] = d < l.batch || d == l.axis ? n->type->dim[d] : 1;
    const int64_t taps = takt_type_of(g, n->in[INDEX])->dim[l.batch];
    for (int64_t k = 0; k < taps && g->status == TAKT_OK; k++) {
        takt_id y = picked(&l, k);
        if (n->in_count > INSIDE && n->in[INSIDE] != TAKT_NONE && y != TAKT_NONE)
            y = takt_select(g, tap_of(&l, n->in[INSIDE], k), y, takt_scalar_like(g, y, 0));
        y = takt_mul(g, y, tap_of(&l, n->in[WEIGHT], k));
        out[0] = k == 0 ? y : takt_add(g, out[0], y);
    }
}

static void cost(const takt_graph *g, const takt_node *n, takt_cost *cost)
{
    const takt_type *index = takt_type_of(g, n->in[INDEX]);
    cost->flops = 2 * takt_make_count(n->type) * (double)index->dim[index->rank - 2];
    cost->bytes = takt_make_bytes(g, n);
}

const takt_op takt_op_gather_sum = {
    .name = "gather_sum",
    .summary = "weighted sums of elements of x at given indices along an axis: interpolation",
    .in_min = 3,
    .in_max = 4,
    .in_names = {"x", "index", "weight", "inside"},
    .attrs = {[AXIS] = {.name = "axis",
                        .type = TAKT_ATTR_I64,
                        .fallback.i64 = -1,
                        .summary = "the axis that is indexed"},
              [BATCH_DIMS] = {.name = "batch_dims",
                              .type = TAKT_ATTR_I64,
                              .fallback.i64 = 0,
                              .summary = "leading dimensions that x and index share"}},
    .traits = TAKT_INDEXED | TAKT_WIDENS,
    .dtypes = TAKT_FLOATS | TAKT_IN(TAKT_I32) | TAKT_IN(TAKT_I64) | TAKT_IN(TAKT_BOOL),
    .is_mixed = true,
    .infer = infer,
    .eval = eval,
    .lower = lower,
    .cost = cost,
    .fixed = 1U << INDEX | 1U << INSIDE,
    .samples = {"gather_sum(f32[2, 3, 5], i64[2, 4] in (0, 4), f32[2, 4])",
                "gather_sum(f32[2, 5, 3], i32[4, 7] in (-5, 4), f32[4, 7], axis=1)",
                "gather_sum(f32[2, 3, 8], i32[2, 4, 6] in (0, 7), f32[2, 4, 6], bool[2, 4, 6], "
                "batch_dims=1)",
                "gather_sum(f64[2, 3, 4, 2], i64[2, 2, 3] in (0, 3), f64[2, 2, 3], axis=2, "
                "batch_dims=1)",
                "gather_sum(f16[4, 3], i64[1, 2] in (0, 3), f16[1, 2], axis=0)",
                "gather_sum(bf16[4], i64[2, 3] in (0, 3), bf16[2, 3])"},
};
