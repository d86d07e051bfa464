/* top_k.c - the k largest or smallest values along an axis, and their indices. */
#include "op/util/bound.h"
#include "op/util/check.h"
#include "op/util/order.h"

enum { K, AXIS, LARGEST, SORTED };

static takt_status infer(takt_infer *in)
{
    const takt_type *x = in->type[0];
    const int64_t k = in->attr[K].i64;
    int axis = 0;
    TAKT_TRY(takt_check_axis(in, in->attr[AXIS].i64, x->rank, &axis));
    TAKT_TRY(takt_check_range(in, K, 0, INT64_MAX));
    char type[TAKT_TYPE_TEXT];
    if (takt_dim_is_number(x->dim[axis]) && k > x->dim[axis])
        return takt_fail(in->ctx, TAKT_E_ATTR,
                         "top_k: k is %lld, but axis %d of %s has only %lld "
                         "elements",
                         (long long)k, axis, takt_type_text(in->dims, x, type),
                         (long long)x->dim[axis]);
    in->out[0] = in->out[1] = *x;
    in->out[0].dim[axis] = in->out[1].dim[axis] = k;
    in->out[1].dtype = TAKT_I64;
    return TAKT_OK;
}

static void by_position(size_t *order, size_t count)
{
    for (size_t i = 1; i < count; i++)
        for (size_t j = i; j > 0 && order[j] < order[j - 1]; j--) {
            const size_t t = order[j];
            order[j] = order[j - 1];
            order[j - 1] = t;
        }
}

static takt_status eval(takt_eval *e)
{
    const takt_array *x = &e->in[0];
    const int64_t given = e->attr[AXIS].i64, k = e->attr[K].i64;
    const int axis = (int)(given < 0 ? given + x->rank : given);
    if (k > x->dim[axis])
        return takt_fail(e->ctx, TAKT_E_SHAPE,
                         "top_k: k is %lld, but axis %d has only %lld "
                         "elements",
                         (long long)k, axis, (long long)x->dim[axis]);
    size_t *order = takt_arena_array(e->scratch, (size_t)x->dim[axis], 2 * sizeof *order);
    if (order == NULL)
        return TAKT_ERR_MEMORY;
    if (e->out[0].count == 0)
        return TAKT_OK;
    for (size_t l = 0; l < takt_line_count(x, axis); l++) {
        const takt_line line = takt_line_at(x, axis, l), out = takt_line_at(&e->out[0], axis, l);
        takt_order(e, &line, e->attr[LARGEST].boolean, order, order + line.count);
        if (!e->attr[SORTED].boolean)
            by_position(order, (size_t)k);
        takt_order_put(e, &line, &out, order);
    }
    return TAKT_OK;
}

static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    takt_order_grad(g, id, dy[0], AXIS, dx);
}

const takt_op takt_op_top_k = {
    .name = "top_k",
    .summary = "the k largest or smallest values along an axis, and their indices",
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .out_count = 2,
    .attrs =
        {[K] = {.name = "k", .type = TAKT_ATTR_I64, .is_required = true, .summary = "how many"},
         [AXIS] = {.name = "axis",
                   .type = TAKT_ATTR_I64,
                   .fallback.i64 = -1,
                   .summary = "the axis along which to look"},
         [LARGEST] = {.name = "largest",
                      .type = TAKT_ATTR_BOOL,
                      .fallback.boolean = true,
                      .summary = "else the smallest; NaN counts as largest"},
         [SORTED] = {.name = "sorted",
                     .type = TAKT_ATTR_BOOL,
                     .fallback.boolean = true,
                     .summary = "best first, of equals the lower index; else by index"}},
    .traits = TAKT_PRIMITIVE,
    .dtypes = TAKT_COMPUTE,
    .infer = infer,
    .eval = eval,
    .grad = grad,
    .bound = takt_bound_order,
    .samples = {"top_k(f32[3, 7], k=2)", "top_k(f64[5, 2], k=5, axis=0, largest=false)",
                "top_k(i16[9], k=4, sorted=false)", "top_k(f32[2, 3], k=0)"},
};
