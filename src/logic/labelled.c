/* labelled.c - tensors whose axes are variables. */
#include <stdio.h>
#include <string.h>

#include "logic/lower.h"
#include "op/util/bits.h"
#include "op/util/make.h"

takt_labelled takt_lower_fail(takt_lower *l, takt_error_id id, const char *format, ...)
{
    char text[TAKT_ERROR_TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (l->g->status == TAKT_OK) {
        l->program->place = l->place;
        takt_graph_fail(l->g, takt_fail(l->program->ctx, id, "%s", text));
    }
    return takt_labelled_none();
}

takt_dim takt_lower_size(const takt_lower *l, int variable)
{
    return l->rule->variables[variable].range.size;
}

int takt_labelled_axis(const takt_labelled *v, int variable)
{
    for (int i = 0; i < v->rank; i++)
        if (v->var[i] == variable)
            return i;
    return -1;
}

takt_id takt_lower_constant(const takt_lower *l, double value)
{
    const takt_type type = {.dtype = takt_lower_dtype(l)};
    takt_tensor t;
    if (l->g->status != TAKT_OK)
        return TAKT_NONE;
    const takt_status status = takt_tensor_create(l->g->ctx, &type, &t);
    if (status != TAKT_OK)
        return takt_graph_fail(l->g, status);
    if (takt_dtype_is_float(type.dtype))
        takt_dtype_put_f(type.dtype, takt_tensor_data(&t), 0, value);
    else
        takt_dtype_put_i(type.dtype, takt_tensor_data(&t), 0, (int64_t)value);
    const takt_id id = takt_graph_constant(l->g, &t);
    takt_tensor_release(&t);
    return id;
}

/* ---- forms ---- */

takt_id takt_labelled_elements(const takt_lower *l, const takt_labelled *v)
{
    if (v->id != TAKT_NONE || v->bits == TAKT_NONE)
        return v->id;
    return takt_unpack_bits(l->g, v->bits, takt_lower_size(l, v->var[v->rank - 1]));
}

takt_id takt_labelled_bits(const takt_lower *l, const takt_labelled *v)
{
    return v->bits != TAKT_NONE ? v->bits : takt_pack_bits(l->g, v->id);
}

takt_labelled takt_labelled_from_bool(takt_lower *l, takt_labelled v)
{
    if (l->semantics->dtype == TAKT_BOOL)
        return v;
    v.id = takt_labelled_elements(l, &v);
    v.bits = TAKT_NONE;
    if (l->semantics->none == 0 && l->semantics->all == 1)
        v.id = takt_cast(l->g, v.id, takt_lower_dtype(l));
    else
        v.id = takt_select(l->g, v.id, takt_lower_constant(l, l->semantics->all),
                           takt_lower_constant(l, l->semantics->none));
    return v;
}

/* ---- axes ---- */

bool takt_labelled_union(takt_lower *l, const takt_labelled *a, const takt_labelled *b,
                         takt_labelled *out)
{
    *out = *a;
    out->id = out->bits = TAKT_NONE;
    for (int i = 0; i < b->rank; i++) {
        if (takt_labelled_axis(a, b->var[i]) >= 0)
            continue;
        if (out->rank == TAKT_MAX_RANK) {
            takt_lower_fail(l, TAKT_E_RANK, "more than %d variables meet in one product",
                            TAKT_MAX_RANK);
            return false;
        }
        out->var[out->rank++] = b->var[i];
    }
    return true;
}

/* The permutation that brings v's axes into the order of `vars`; true if nothing moves. */
static bool permutation(const takt_labelled *v, const int *vars, int rank,
                        int64_t perm[TAKT_MAX_RANK])
{
    int count = 0;
    bool is_same = true;
    for (int i = 0; i < rank; i++) {
        const int axis = takt_labelled_axis(v, vars[i]);
        if (axis < 0)
            continue;
        is_same = is_same && axis == count;
        perm[count++] = axis;
    }
    return is_same;
}

takt_id takt_labelled_arrange(const takt_lower *l, const takt_labelled *v, const int *vars,
                              int rank)
{
    int64_t perm[TAKT_MAX_RANK];
    takt_dim dims[TAKT_MAX_RANK];
    takt_id id = takt_labelled_elements(l, v);
    if (id == TAKT_NONE)
        return id;
    if (!permutation(v, vars, rank, perm))
        id = takt_transpose(l->g, id, perm, (size_t)v->rank);
    if (rank == v->rank)
        return id;
    for (int i = 0; i < rank; i++)
        dims[i] = takt_labelled_axis(v, vars[i]) >= 0 ? takt_lower_size(l, vars[i]) : 1;
    return takt_reshape(l->g, id, dims, (size_t)rank);
}

takt_id takt_labelled_spread(const takt_lower *l, const takt_labelled *v, const int *vars, int rank)
{
    takt_dim dims[TAKT_MAX_RANK];
    bool is_whole = true;
    for (int i = 0; i < rank; i++) {
        dims[i] = takt_lower_size(l, vars[i]);
        is_whole = is_whole && takt_labelled_axis(v, vars[i]) >= 0;
    }
    const takt_id id = takt_labelled_arrange(l, v, vars, rank);
    return is_whole || id == TAKT_NONE ? id : takt_broadcast(l->g, id, dims, (size_t)rank);
}

takt_labelled takt_labelled_pair(takt_lower *l, const takt_labelled *a, const takt_labelled *b,
                                 takt_pair_fn *op)
{
    takt_labelled out;
    const bool swap = b->rank > a->rank; /* the order of the larger is kept */
    if (!takt_labelled_is_good(a) || !takt_labelled_is_good(b) ||
        !takt_labelled_union(l, swap ? b : a, swap ? a : b, &out))
        return takt_labelled_none();
    const takt_id left = takt_labelled_arrange(l, a, out.var, out.rank);
    const takt_id right = takt_labelled_arrange(l, b, out.var, out.rank);
    out.id = op(l->g, left, right);
    return out;
}

/* ---- connectives on bits ---- */

/* Whether both exist as bits of the same axes, in the same order. */
static bool are_bits(const takt_labelled *a, const takt_labelled *b)
{
    return a->bits != TAKT_NONE && b->bits != TAKT_NONE && a->rank == b->rank &&
           memcmp(a->var, b->var, (size_t)a->rank * sizeof *a->var) == 0;
}

static takt_labelled connect(takt_lower *l, const takt_labelled *a, const takt_labelled *b,
                             takt_pair_fn *op)
{
    if (!are_bits(a, b))
        return takt_labelled_pair(l, a, b, op);
    takt_labelled out = *a;
    out.id = TAKT_NONE;
    out.bits = op(l->g, a->bits, b->bits);
    return out;
}

takt_labelled takt_labelled_both(takt_lower *l, const takt_labelled *a, const takt_labelled *b)
{
    return connect(l, a, b, l->semantics->both);
}

takt_labelled takt_labelled_either(takt_lower *l, const takt_labelled *a, const takt_labelled *b)
{
    return connect(l, a, b, l->semantics->either);
}

/* Bits beyond the last element stay 0. */
static takt_id tail_mask(const takt_lower *l, takt_dim size)
{
    const takt_id yes = takt_lower_constant(l, 1);
    return takt_pack_bits(l->g, takt_broadcast(l->g, yes, &size, 1));
}

takt_labelled takt_labelled_not(takt_lower *l, const takt_labelled *v)
{
    takt_labelled out = *v;
    if (v->bits == TAKT_NONE) {
        out.id = l->semantics->not(l->g, v->id);
        return out;
    }
    out.id = TAKT_NONE;
    out.bits = takt_binary(l->g, &takt_op_and, takt_unary(l->g, &takt_op_not, v->bits),
                           tail_mask(l, takt_lower_size(l, v->var[v->rank - 1])));
    return out;
}

/* ---- quantifiers ---- */

size_t takt_labelled_axes(const takt_labelled *v, const int *bound, size_t count, int64_t *axes,
                          takt_labelled *rest)
{
    size_t found = 0;
    *rest = takt_labelled_none();
    for (int i = 0; i < v->rank; i++) {
        bool is_bound = false;
        for (size_t k = 0; k < count; k++)
            is_bound = is_bound || bound[k] == v->var[i];
        if (is_bound)
            axes[found++] = i;
        else
            rest->var[rest->rank++] = v->var[i];
    }
    return found;
}

takt_labelled takt_labelled_exists(takt_lower *l, const takt_labelled *v, const int *bound,
                                   size_t count)
{
    int64_t axes[TAKT_MAX_RANK];
    takt_labelled out;
    const size_t found = takt_labelled_axes(v, bound, count, axes, &out);
    if (found == 0 || !takt_labelled_is_good(v))
        return *v;
    if (v->id == TAKT_NONE && axes[found - 1] == v->rank - 1) {
        /* Any bit of any word. */
        const takt_id any =
            takt_binary(l->g, &takt_op_ne, v->bits, takt_scalar_like(l->g, v->bits, 0));
        out.id = l->semantics->exists(l->g, any, axes, found);
        return out;
    }
    out.id = l->semantics->exists(l->g, takt_labelled_elements(l, v), axes, found);
    return out;
}
