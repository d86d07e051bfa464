/* lengths.c - data-dependent sizes, during import. */
#include "io/onnx/lengths.h"

#include <string.h>

bool takt_onnx_may_find(const takt_call *c)
{
    const bool is_inside = !c->scope->room->may_find;
    c->im->is_wanted_inside = c->im->is_wanted_inside || is_inside;
    return c->status == TAKT_OK && !is_inside;
}

static takt_status known_sizes(takt_call *c, takt_id n, size_t count, takt_dim *out, bool *done)
{
    const takt_array *known;
    *done = false;
    TAKT_TRY(takt_fold_known(c->scope->room, n, &known));
    if (known == NULL || known->i == NULL || known->count != count)
        return TAKT_OK;
    for (size_t i = 0; i < count; i++) {
        out[i] = known->i[i];
        if (known->i[i] < 0)
            return takt_onnx_refuse(c, "a size is %lld", (long long)known->i[i]);
    }
    *done = true;
    return takt_fold_bind(c->scope->room, n);
}

/* ---- partly known elements ---- */

/* The value that element `*k` of `id` (flattened) was moved from. */
static takt_id source_of(takt_call *c, takt_id id, size_t *k)
{
    for (;;) {
        const takt_node *n = takt_node_at(c->g, id);
        const bool is_move =
            n->op == &takt_op_reshape || n->op == &takt_op_squeeze || n->op == &takt_op_unsqueeze ||
            (n->op == &takt_op_cast && takt_dtype_is_int(takt_type_of(c->g, n->in[0])->dtype) &&
             takt_type_of(c->g, id)->dtype == TAKT_I64);
        if (is_move) {
            id = n->in[0];
            continue;
        }
        if (n->op != &takt_op_concat || n->type->rank != 1)
            return id;
        uint32_t i = 0;
        for (; i < n->in_count; i++) {
            const takt_dim size = takt_type_of(c->g, n->in[i])->dim[0];
            if (!takt_dim_is_number(size))
                return id;
            if (*k < (size_t)size)
                break;
            *k -= (size_t)size;
        }
        if (i == n->in_count)
            return id;
        id = n->in[i];
    }
}

static takt_status known_size(takt_call *c, takt_id n, size_t k, takt_dim *out, bool *is_known)
{
    takt_syms syms;
    *is_known = false;
    const takt_id source = source_of(c, n, &k);
    TAKT_TRY(takt_fold_syms(c->scope->room, source, &syms));
    if (syms.at == NULL || k >= syms.count || syms.at[k].is_minus ||
        (!syms.at[k].is_dim && syms.at[k].number < 0))
        return TAKT_OK;
    *is_known = true;
    *out = syms.at[k].is_dim ? syms.at[k].dim : syms.at[k].number;
    return syms.at[k].is_dim ? TAKT_OK : takt_fold_bind(c->scope->room, source);
}

/* "nonzero_3": named after the operator. */
static takt_status fresh(takt_call *c, takt_dim *out)
{
    char base[40];
    size_t at = 0;
    for (; at < c->node->op.length && at + 1 < sizeof base; at++) {
        const char letter = c->node->op.at[at];
        const bool is_upper = letter >= 'A' && letter <= 'Z';
        const bool is_plain = (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9');
        base[at] = is_upper ? (char)(letter - 'A' + 'a') : is_plain ? letter : '_';
    }
    base[at] = '\0';
    return takt_dim_fresh(c->g->dims, base, out);
}

void takt_onnx_lengths(takt_call *c, takt_id n, const takt_onnx_bound *bounds, size_t count,
                       takt_dim *out)
{
    takt_dim most[TAKT_MAX_RANK], top[TAKT_MAX_RANK];
    bool is_known = false;
    memset(out, 0, count * sizeof *out);
    if (n == TAKT_NONE || c->status != TAKT_OK || c->g->status != TAKT_OK)
        return;
    c->status = known_sizes(c, n, count, out, &is_known);
    if (is_known || c->status != TAKT_OK)
        return;
    if (count > TAKT_MAX_RANK || !takt_onnx_may_find(c)) {
        (void)takt_onnx_refuse(c, "a size that values decide inside a branch or a loop");
        return;
    }
    size_t open = 0;
    takt_id asked[TAKT_MAX_RANK];
    takt_dim names[TAKT_MAX_RANK];
    for (size_t i = 0; i < count && c->status == TAKT_OK; i++) {
        c->status = known_size(c, n, i, &out[i], &is_known);
        if (is_known || c->status != TAKT_OK)
            continue;
        most[open] = bounds[i].most;
        top[open] = bounds[i].top;
        asked[open] = takt_onnx_item(c, n, i);
        c->status = fresh(c, &names[open]);
        out[i] = names[open++];
    }
    if (open == 0 || c->status != TAKT_OK)
        return;
    const takt_named_attr attrs[] = {{"names", takt_attr_shape(names, open)},
                                     {"bounds", takt_attr_shape(most, open)},
                                     {"tops", takt_attr_shape(top, open)}};
    (void)takt_onnx_op1(c, &takt_op_length, open < count ? takt_onnx_pack(c, asked, open) : n, 3,
                        attrs);
}

takt_dim takt_onnx_length(takt_call *c, takt_id n, takt_onnx_bound bound)
{
    takt_dim out = 0;
    const takt_dim one = 1;
    if (n != TAKT_NONE && c->scope->has_gate)
        n = takt_select(c->g, c->scope->gate, takt_onnx_cast(c, n, TAKT_I64),
                        takt_scalar_i64(c->g, 0));
    if (n != TAKT_NONE)
        n = takt_reshape(c->g, takt_onnx_cast(c, n, TAKT_I64), &one, 1);
    takt_onnx_lengths(c, n, &bound, 1, &out);
    return out;
}

takt_syms takt_onnx_peek_syms(takt_call *c, size_t i)
{
    takt_syms syms = {0};
    const takt_id id = takt_onnx_in(c, i);
    if (id != TAKT_NONE && c->status == TAKT_OK)
        c->status = takt_fold_syms(c->scope->room, id, &syms);
    return syms;
}

takt_id takt_onnx_vector(takt_call *c, size_t i, size_t *count)
{
    *count = 0;
    if (!takt_onnx_may_find(c) || !takt_onnx_has(c, i))
        return TAKT_NONE;
    const takt_type t = *takt_onnx_type(c, i);
    takt_dim size = t.rank == 1 ? t.dim[0] : 1;
    if (t.rank > 1 || !takt_dtype_is_int(t.dtype) ||
        takt_dim_resolve(c->g->dims, size, &size) != TAKT_OK || !takt_dim_is_number(size) ||
        size > TAKT_MAX_RANK * 2)
        return TAKT_NONE;
    *count = (size_t)size;
    return takt_reshape(c->g, takt_onnx_cast(c, takt_onnx_in(c, i), TAKT_I64), &size, 1);
}

takt_id takt_onnx_item(takt_call *c, takt_id vector, size_t k)
{
    return takt_onnx_shape(c, takt_slice(c->g, vector, 0, (int64_t)k, (int64_t)k + 1, 1), NULL, 0);
}

void takt_onnx_sizes(takt_call *c, takt_id x, takt_id *sizes)
{
    const int rank = takt_type_of(c->g, x)->rank;
    for (int i = 0; i < rank; i++)
        sizes[i] = takt_onnx_size(c, x, i);
}

takt_id takt_onnx_pack(takt_call *c, const takt_id *scalars, size_t count)
{
    takt_id rows[2 * TAKT_MAX_RANK];
    const takt_dim one = 1;
    for (size_t i = 0; i < count; i++) {
        if (scalars[i] == TAKT_NONE)
            return TAKT_NONE;
        rows[i] = takt_reshape(c->g, scalars[i], &one, 1);
    }
    return count == 1 ? rows[0] : takt_concat(c->g, rows, count, 0);
}

takt_id takt_onnx_counted(takt_call *c, takt_dim count)
{
    const takt_named_attr attrs[] = {{"shape", takt_attr_shape(&count, 1)},
                                     {"dtype", takt_attr_dtype(TAKT_I64)}};
    return c->status == TAKT_OK ? takt_graph_call(c->g, &takt_op_iota, 0, NULL, 2, attrs)
                                : TAKT_NONE;
}

takt_id takt_onnx_flat(takt_call *c, takt_id x, takt_dim *count)
{
    *count = 1;
    if (x == TAKT_NONE)
        return x;
    const takt_type t = *takt_type_of(c->g, x);
    for (int i = 0; i < t.rank && c->status == TAKT_OK; i++)
        c->status = takt_dim_make(c->g->dims, TAKT_DIM_MUL, *count, t.dim[i], count);
    return c->status == TAKT_OK ? takt_reshape(c->g, x, count, 1) : TAKT_NONE;
}

takt_id takt_onnx_with(takt_call *c, const takt_op *op, takt_id a, int64_t b)
{
    return takt_binary(c->g, op, a, takt_scalar_i64(c->g, b));
}

takt_id takt_onnx_sized(takt_call *c, takt_id x, takt_dim rows)
{
    if (x == TAKT_NONE)
        return x;
    takt_type t = *takt_type_of(c->g, x);
    t.dim[0] = rows;
    return takt_onnx_op1(c, &takt_op_sized, x, 1,
                         &(takt_named_attr){"shape", takt_attr_shape(t.dim, (size_t)t.rank)});
}

/* [rank, count]: whether axis `row` is the one that element `column` of `axes` names. */
static takt_id hits(takt_call *c, takt_id axes, size_t count, int rank)
{
    const takt_id below = takt_onnx_with(c, &takt_op_lt, axes, 0);
    axes = takt_select(c->g, below, takt_onnx_with(c, &takt_op_add, axes, rank), axes);
    const takt_dim row[2] = {1, (takt_dim)count}, column[2] = {rank, 1};
    const takt_id all = takt_onnx_counted(c, rank);
    if (axes == TAKT_NONE || all == TAKT_NONE)
        return TAKT_NONE;
    return takt_onnx_cast(c,
                          takt_binary(c->g, &takt_op_eq, takt_reshape(c->g, all, column, 2),
                                      takt_reshape(c->g, axes, row, 2)),
                          TAKT_I64);
}

static takt_id over_columns(takt_call *c, const takt_op *op, takt_id x)
{
    return takt_reduce_over(c->g, op, x, (int64_t[]){1}, 1, false);
}

takt_id takt_onnx_is_axis(takt_call *c, takt_id axes, size_t count, int rank)
{
    return over_columns(c, &takt_op_reduce_max, hits(c, axes, count, rank));
}

takt_id takt_onnx_spread(takt_call *c, takt_id values, takt_id axes, size_t count, int rank,
                         takt_id others)
{
    const takt_id hit = hits(c, axes, count, rank);
    const takt_id own = over_columns(c, &takt_op_reduce_sum, takt_mul(c->g, hit, values));
    const takt_id is_one =
        takt_onnx_with(c, &takt_op_gt, takt_onnx_is_axis(c, axes, count, rank), 0);
    return takt_select(c->g, is_one, own, others);
}

takt_id takt_onnx_modulo(takt_call *c, takt_id a, takt_id b)
{
    const takt_id rest = takt_sub(c->g, a, takt_mul(c->g, takt_div(c->g, a, b), b));
    const takt_id zero = takt_scalar_i64(c->g, 0);
    const takt_id differs = takt_binary(c->g, &takt_op_lt, takt_mul(c->g, rest, b), zero);
    return takt_select(c->g, differs, takt_add(c->g, rest, b), rest);
}

takt_id takt_onnx_floordiv(takt_call *c, takt_id a, takt_id b)
{
    return takt_div(c->g, takt_sub(c->g, a, takt_onnx_modulo(c, a, b)), b);
}

/* Fails the run unless the sizes of the parts, `sum`, are the axis. Of a branch that is not taken
 * they may be anything. */
static takt_status demand_all(takt_call *c, takt_id x, int axis, takt_id sum)
{
    const takt_dim one = 1, size = takt_type_of(c->g, x)->dim[axis];
    const takt_id own = takt_onnx_size(c, x, axis);
    takt_id more = takt_sub(c->g, sum, own);
    if (c->scope->has_gate)
        more = takt_select(c->g, c->scope->gate, more, takt_scalar_i64(c->g, 0));
    const takt_named_attr attrs[] = {{"names", takt_attr_shape(&size, 1)},
                                     {"bounds", takt_attr_shape(&size, 1)},
                                     {"tops", takt_attr_shape(&size, 1)}};
    const takt_id is = takt_reshape(c->g, takt_add(c->g, own, more), &one, 1);
    if (is != TAKT_NONE)
        (void)takt_onnx_op1(c, &takt_op_length, is, 3, attrs);
    return c->status;
}

takt_status takt_onnx_parts(takt_call *c, takt_id sizes, size_t count, takt_id *parts)
{
    takt_graph *g = c->g;
    const takt_type t = *takt_onnx_type(c, 0);
    const takt_id x = takt_onnx_in(c, 0);
    const int axis = takt_onnx_axis(c, takt_onnx_i(c, "axis", 0), t.rank);
    takt_onnx_bound bounds[TAKT_MAX_RANK];
    takt_dim dims[TAKT_MAX_RANK], left;
    if (c->status != TAKT_OK || count > TAKT_MAX_RANK)
        return takt_onnx_refuse(c, "%zu sizes that values decide", count);
    for (size_t i = 0; i < count; i++) /* planned as if the first were all */
        bounds[i] = (takt_onnx_bound){t.dim[axis], i == 0 ? t.dim[axis] : 0};
    if (count > 1)
        takt_onnx_lengths(c, takt_slice(g, sizes, 0, 0, (int64_t)count - 1, 1), bounds, count - 1,
                          dims);
    left = t.dim[axis];
    for (size_t i = 0; i + 1 < count && c->status == TAKT_OK; i++)
        c->status = takt_dim_make(g->dims, TAKT_DIM_SUB, left, dims[i], &left);
    takt_id from = takt_scalar_i64(g, 0);
    for (size_t i = 0; i < count && c->status == TAKT_OK; i++) {
        const takt_id at = takt_onnx_counted(c, i + 1 < count ? dims[i] : left);
        parts[i] = takt_onnx_gather(c, x, takt_add(g, at, from), axis);
        from = takt_add(g, from, takt_onnx_item(c, sizes, i));
    }
    return c->status == TAKT_OK && takt_onnx_may_find(c) ? demand_all(c, x, axis, from) : c->status;
}
