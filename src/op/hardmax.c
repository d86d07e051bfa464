/* hardmax.c - 1 at the first greatest element along an axis, 0 elsewhere. */
#include "op/util/formula.h"
#include "op/util/norm.h"
#include "op/util/stops.h"
#include "op/util/walk.h"

enum { AXIS };

static takt_status eval(takt_eval *e)
{
    const takt_array *x = &e->in[0];
    const takt_rows rows = takt_rows_of(x, e->attr[AXIS].i64);
    for (size_t r = 0; r < rows.outer * rows.inner && !takt_eval_stops(e, rows.size); r++) {
        const size_t start = r / rows.inner * rows.size * rows.inner + r % rows.inner;
        size_t best = start;
        for (size_t k = 1; k < rows.size; k++) {
            const double rival = x->f[start + k * rows.inner];
            if (rival > x->f[best] || (rival != rival && x->f[best] == x->f[best]))
                best = start + k * rows.inner;
        }
        if (rows.size > 0)
            e->out[0].f[best] = 1;
    }
    return TAKT_OK;
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    const takt_type *type = &n->type[0];
    const takt_named_attr where[] = {{"axis", n->attr[AXIS]}, {"keep", takt_attr_bool(true)}};
    const takt_named_attr grid[] = {{"dtype", takt_attr_dtype(TAKT_I64)},
                                    {"shape", takt_attr_shape(type->dim, (size_t)type->rank)},
                                    {"axis", n->attr[AXIS]}};
    const takt_dtype dtype = type->dtype;
    const takt_id best = takt_graph_call(g, &takt_op_argmax, 1, n->in, 2, where);
    const takt_id index = takt_graph_call(g, &takt_op_iota, 0, NULL, 3, grid);
    out[0] = takt_cast(g, takt_binary(g, &takt_op_eq, index, best), dtype);
}

static void cost(const takt_graph *g, const takt_node *n, takt_cost *c)
{
    takt_cost_of_input(g, n, 2, c);
}

const takt_op takt_op_hardmax = {
    .name = "hardmax",
    .summary = "1 at the first greatest element along an axis, 0 elsewhere",
    .onnx = {{"Hardmax", 13, 0}},
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .attrs = {[AXIS] = {.name = "axis",
                        .type = TAKT_ATTR_I64,
                        .fallback.i64 = -1,
                        .summary = "the axis to search along"}},
    .dtypes = TAKT_FLOATS,
    .infer = takt_axis_infer,
    .eval = eval,
    .grad = takt_grad_zero,
    .lower = lower,
    .cost = cost,
    .samples = {"hardmax(f32[2, 3])", "hardmax(f64[3, 4, 5], axis=1)",
                "hardmax(f16[4, 9], axis=0)"},
};
