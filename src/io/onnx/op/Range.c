/* Range.c - Range: start, start + delta, … */
#include <math.h>

#include "io/onnx/lengths.h"

static takt_status of_numbers(takt_call *c, const takt_array *start, const takt_array *limit,
                              const takt_array *delta)
{
    const takt_dtype dtype = start->dtype;
    if (limit->dtype != dtype || delta->dtype != dtype)
        return takt_onnx_refuse(c, "inputs of different types");
    const bool is_float = start->f != NULL;
    const double from = is_float ? start->f[0] : (double)start->i[0];
    const double to = is_float ? limit->f[0] : (double)limit->i[0];
    const double by = is_float ? delta->f[0] : (double)delta->i[0];
    const double count = ceil((to - from) / by);
    if (by == 0 || isnan(count) || count > 1 << 26)
        return takt_onnx_refuse(c, "from %g to %g by %g", from, to, by);
    const int64_t n = count > 0 ? (int64_t)count : 0;
    double *v = takt_onnx_get(c, (size_t)n, sizeof *v);
    for (int64_t i = 0; v != NULL && i < n; i++)
        v[i] = from + (double)i * by;
    return v == NULL ? TAKT_ERR_MEMORY : takt_onnx_done(c, takt_onnx_floats(c, dtype, v, &n, 1));
}

/* Input `i` as one integer or dimension; floats are accepted if they were cast from one. */
static takt_sym whole(takt_call *c, size_t i)
{
    const takt_array *known = takt_onnx_peek(c, i);
    const takt_id id = takt_onnx_in(c, i);
    const takt_node *n = id != TAKT_NONE ? takt_node_at(c->g, id) : NULL;
    takt_syms syms = {0};
    if (known != NULL && known->f != NULL && known->count == 1 && fabs(known->f[0]) < 0x1p24 &&
        known->f[0] == floor(known->f[0]))
        return (takt_sym){.number = (int64_t)known->f[0]};
    if (known == NULL && n != NULL && n->op == &takt_op_cast && c->status == TAKT_OK)
        c->status = takt_fold_syms(c->scope->room, n->in[0], &syms);
    if (syms.at == NULL)
        syms = takt_onnx_syms(c, i);
    if (c->status == TAKT_OK && syms.count != 1)
        (void)takt_onnx_refuse(c, "an input that is not one number");
    return c->status == TAKT_OK ? syms.at[0] : (takt_sym){0};
}

/* 0, 1, … */
static takt_id counted(takt_call *c, takt_dim count, takt_dtype dtype)
{
    const takt_named_attr attrs[] = {{"shape", takt_attr_shape(&count, 1)},
                                     {"dtype", takt_attr_dtype(dtype)}};
    return takt_graph_call(c->g, &takt_op_iota, 0, NULL, 2, attrs);
}

/* start, start + 1, … up to a dimension; start may be one too, as after a cache. */
static takt_status of_dimension(takt_call *c)
{
    const takt_sym start = whole(c, 0), limit = whole(c, 1), delta = whole(c, 2);
    const takt_dtype dtype = takt_onnx_type(c, 0)->dtype;
    if (c->status != TAKT_OK)
        return c->status;
    if (delta.is_dim || delta.number != 1 || (!start.is_dim && start.number < 0) ||
        (!limit.is_dim && limit.number < 0) || start.is_minus || limit.is_minus)
        return takt_onnx_refuse(c, "a range of other numbers than whole ones up to a dimension");
    const takt_dim from = start.is_dim ? start.dim : start.number;
    takt_dim count = limit.is_dim ? limit.dim : limit.number;
    TAKT_TRY(takt_dim_make(c->g->dims, TAKT_DIM_SUB, count, from, &count));
    takt_id y = counted(c, count, dtype);
    if (start.is_dim) {
        const takt_named_attr axis = {"axis", takt_attr_i64(0)};
        const takt_id at = takt_onnx_op1(c, &takt_op_dim, counted(c, from, dtype), 1, &axis);
        y = takt_add(c->g, y, takt_onnx_cast(c, at, dtype));
    } else if (from != 0 && y != TAKT_NONE) {
        y = takt_add_scalar(c->g, y, (double)from);
    }
    return takt_onnx_done(c, y);
}

/* Numbers found at run time, and with them the count. */
static takt_status of_values(takt_call *c)
{
    takt_graph *g = c->g;
    const takt_id start = takt_onnx_shape(c, takt_onnx_in(c, 0), NULL, 0),
                  limit = takt_onnx_shape(c, takt_onnx_in(c, 1), NULL, 0),
                  delta = takt_onnx_shape(c, takt_onnx_in(c, 2), NULL, 0);
    if (c->status != TAKT_OK || start == TAKT_NONE || limit == TAKT_NONE || delta == TAKT_NONE)
        return takt_onnx_refuse(c, "an input is missing or no number");
    const takt_dtype dtype = takt_type_of(g, start)->dtype;
    const takt_id wide = takt_onnx_cast(c, takt_sub(g, limit, start), TAKT_F64);
    takt_id count = takt_div(g, wide, takt_onnx_cast(c, delta, TAKT_F64));
    count = takt_onnx_cast(c, takt_unary(g, &takt_op_ceil, count), TAKT_I64);
    count = takt_onnx_with(c, &takt_op_max, count, 0);
    const takt_dim size = takt_onnx_length(c, count, takt_onnx_at_most(TAKT_LENGTH_OPEN));
    if (c->status != TAKT_OK)
        return c->status;
    const takt_id at = counted(c, size, dtype);
    return takt_onnx_done(c, takt_add(g, start, takt_mul(g, at, delta)));
}

/* Whether an input is neither a number nor a dimension. */
static bool is_found(takt_call *c)
{
    bool is_open = false;
    for (size_t i = 0; i < 3 && takt_onnx_may_find(c); i++) {
        takt_syms syms = {0};
        const takt_id id = takt_onnx_in(c, i);
        const takt_node *n = id != TAKT_NONE ? takt_node_at(c->g, id) : NULL;
        if (n == NULL || takt_onnx_peek(c, i) != NULL || c->status != TAKT_OK)
            continue;
        c->status = takt_fold_syms(c->scope->room, id, &syms);
        if (syms.at == NULL && n->op == &takt_op_cast && c->status == TAKT_OK)
            c->status = takt_fold_syms(c->scope->room, n->in[0], &syms);
        is_open = is_open || syms.at == NULL;
    }
    return is_open && c->status == TAKT_OK;
}

static takt_status adapt(takt_call *c)
{
    const takt_array *v[3];
    if (is_found(c))
        return of_values(c);
    for (size_t i = 0; i < 3; i++) {
        v[i] = takt_onnx_peek(c, i);
        if (v[i] == NULL || v[i]->count != 1)
            return c->status == TAKT_OK ? of_dimension(c) : c->status;
    }
    return of_numbers(c, v[0], v[1], v[2]);
}

const takt_onnx_op takt_onnx_Range = {.names = {"Range"}, .adapt = adapt};
