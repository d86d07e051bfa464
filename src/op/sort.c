/* sort.c - sorted values along an axis, and their indices. */
#include "op/util/bound.h"
#include "op/util/check.h"
#include "op/util/order.h"

enum { AXIS, DESCENDING };

static takt_status infer(takt_infer *in)
{
    int axis = 0;
    TAKT_TRY(takt_check_axis(in, in->attr[AXIS].i64, in->type[0]->rank, &axis));
    in->out[0] = in->out[1] = *in->type[0];
    in->out[1].dtype = TAKT_I64;
    return TAKT_OK;
}

static takt_status eval(takt_eval *e)
{
    const takt_array *x = &e->in[0];
    const int64_t given = e->attr[AXIS].i64;
    const int axis = (int)(given < 0 ? given + x->rank : given);
    size_t *order = takt_arena_array(e->scratch, (size_t)x->dim[axis], 2 * sizeof *order);
    if (order == NULL)
        return TAKT_ERR_MEMORY;
    if (x->count == 0)
        return TAKT_OK;
    for (size_t l = 0; l < takt_line_count(x, axis); l++) {
        const takt_line line = takt_line_at(x, axis, l);
        takt_order(e, &line, e->attr[DESCENDING].boolean, order, order + line.count);
        takt_order_put(e, &line, &line, order);
    }
    return TAKT_OK;
}

static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    takt_order_grad(g, id, dy[0], AXIS, dx);
}

const takt_op takt_op_sort = {
    .name = "sort",
    .summary = "values in order along an axis, and their indices; stable, NaN counts as largest",
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .out_count = 2,
    .attrs = {[AXIS] = {.name = "axis",
                        .type = TAKT_ATTR_I64,
                        .fallback.i64 = -1,
                        .summary = "the axis along which to sort"},
              [DESCENDING] = {.name = "descending",
                              .type = TAKT_ATTR_BOOL,
                              .summary = "largest first"}},
    .traits = TAKT_PRIMITIVE,
    .dtypes = TAKT_COMPUTE,
    .infer = infer,
    .eval = eval,
    .grad = grad,
    .bound = takt_bound_order,
    .samples = {"sort(f32[3, 7])", "sort(f64[4, 2, 3], axis=0, descending=true)",
                "sort(i8[9], axis=0)", "sort(u64[2, 5], descending=true)"},
};
