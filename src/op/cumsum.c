/* cumsum.c - running sums along an axis, added one by one; integers wrap. */
#include "ir/infer.h"
#include "op/util/amp.h"
#include "op/util/bound.h"
#include "op/util/formula.h"
#include "op/util/stops.h"
#include "op/util/walk.h"

enum { AXIS, EXCLUSIVE, REVERSE };

static takt_status infer(takt_infer *in)
{
    int axis;
    if (!takt_axis(in, in->attr[AXIS].i64, in->type[0]->rank, &axis))
        return TAKT_ERR_ARGUMENT;
    in->out[0] = *in->type[0];
    return TAKT_OK;
}

static takt_status eval(takt_eval *e)
{
    const takt_array *x = &e->in[0];
    takt_array *out = &e->out[0];
    const bool exclusive = e->attr[EXCLUSIVE].boolean, reverse = e->attr[REVERSE].boolean;
    const takt_rows rows = takt_rows_of(x, e->attr[AXIS].i64);
    for (size_t r = 0; r < rows.outer * rows.inner && !takt_eval_stops(e, rows.size); r++) {
        const size_t start = r / rows.inner * rows.size * rows.inner + r % rows.inner;
        double f = 0;
        uint64_t i = 0;
        for (size_t k = 0; k < rows.size; k++) {
            const size_t at = start + (reverse ? rows.size - 1 - k : k) * rows.inner;
            if (x->f != NULL) {
                out->f[at] = exclusive ? f : f + x->f[at];
                f += x->f[at];
            } else {
                out->i[at] = (int64_t)(exclusive ? i : i + (uint64_t)x->i[at]);
                i += (uint64_t)x->i[at];
            }
        }
    }
    return TAKT_OK;
}

/* x[k] is in all later sums: the running sum of dy from the other end. */
static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_node *n = takt_node_at(g, id);
    const takt_attr attrs[] = {[AXIS] = n->attr[AXIS],
                               [EXCLUSIVE] = n->attr[EXCLUSIVE],
                               [REVERSE] = takt_attr_bool(!n->attr[REVERSE].boolean)};
    dx[0] = takt_graph_append(g, n->op, 1, &dy[0], attrs);
}

static void cost(const takt_graph *g, const takt_node *n, takt_cost *c)
{
    takt_cost_of_input(g, n, 1, c);
}

const takt_op takt_op_cumsum = {
    .name = "cumsum",
    .summary = "running sums along an axis",
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .attrs = {[AXIS] = {.name = "axis",
                        .type = TAKT_ATTR_I64,
                        .is_required = true,
                        .summary = "the axis to add along"},
              [EXCLUSIVE] = {.name = "exclusive",
                             .type = TAKT_ATTR_BOOL,
                             .fallback.boolean = false,
                             .summary = "leave each element out of its own sum"},
              [REVERSE] = {.name = "reverse",
                           .type = TAKT_ATTR_BOOL,
                           .fallback.boolean = false,
                           .summary = "start at the end"}},
    .traits = TAKT_PRIMITIVE | TAKT_AMP_WIDE,
    .dtypes = TAKT_NUMBERS,
    .infer = infer,
    .eval = eval,
    .grad = grad,
    .cost = cost,
    .bound = takt_bound_sum,
    .error.roundings = takt_roundings_chain,
    .affine = 1,
    .samples = {"cumsum(f32[2, 3], axis=1)", "cumsum(f64[3, 4, 2], axis=-2, exclusive=true)",
                "cumsum(f32[5], axis=0, reverse=true)",
                "cumsum(i32[2, 6], axis=0, exclusive=true, reverse=true)", "cumsum(u8[9], axis=0)"},
};
