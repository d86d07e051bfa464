/* Expand.c - Expand: broadcasting both ways. */
#include "io/onnx/lengths.h"
#include "io/onnx/meet.h"

/* Axes that x lacks, or that have size 1, get their size at run time. */
static takt_status by_values(takt_call *c, takt_id shape, size_t count)
{
    const takt_type t = *takt_onnx_type(c, 0);
    const int rank = (int)count > t.rank ? (int)count : t.rank;
    takt_onnx_bound bounds[TAKT_MAX_RANK];
    takt_id asked[TAKT_MAX_RANK];
    takt_dim dims[TAKT_MAX_RANK], found[TAKT_MAX_RANK];
    size_t open = 0;
    if (c->status != TAKT_OK || rank > TAKT_MAX_RANK)
        return takt_onnx_refuse(c, "%d dimensions", rank);
    for (int i = 0; i < rank; i++) {
        const int own = i - (rank - t.rank), at = i - (rank - (int)count);
        dims[i] = own >= 0 ? t.dim[own] : 1;
        if (dims[i] != 1 || at < 0)
            continue;
        bounds[open] = takt_onnx_at_most(TAKT_LENGTH_OPEN);
        asked[open++] = takt_onnx_item(c, shape, (size_t)at);
    }
    if (open > 0)
        takt_onnx_lengths(c, takt_onnx_pack(c, asked, open), bounds, open, found);
    for (int i = 0, k = 0; i < rank && c->status == TAKT_OK; i++)
        if (dims[i] == 1 && i >= rank - (int)count)
            dims[i] = found[k++];
    return takt_onnx_done(c, c->status == TAKT_OK
                                 ? takt_broadcast(c->g, takt_onnx_in(c, 0), dims, (size_t)rank)
                                 : TAKT_NONE);
}

/* x broadcast with `want`, for sizes found at run time; `want` gets the resulting sizes. */
static takt_id meet(takt_call *c, takt_id x, takt_type *want)
{
    for (int i = 0; i < want->rank && x != TAKT_NONE && c->status == TAKT_OK; i++) {
        const takt_type *t = takt_type_of(c->g, x);
        const int axis = t->rank - want->rank + i;
        size_t count;
        if (axis < 0 || t->dim[axis] == 1 || want->dim[i] == 1 ||
            (takt_dim_is_number(t->dim[axis]) && takt_dim_is_number(want->dim[i])))
            continue;
        const takt_id shape = takt_onnx_vector(c, 1, &count);
        if (shape == TAKT_NONE)
            break;
        const takt_onnx_side own = {takt_onnx_size(c, x, axis), t->dim[axis]};
        const takt_onnx_side other = {takt_onnx_item(c, shape, (size_t)i), want->dim[i]};
        const takt_dim both = takt_onnx_join(c, &own, &other);
        if (both == 0)
            continue;
        x = takt_onnx_stretch(c, x, axis, both);
        want->dim[i] = both;
    }
    return x;
}

static takt_status adapt(takt_call *c)
{
    size_t count;
    const takt_syms syms = takt_onnx_peek_syms(c, 1);
    const takt_id shape = syms.at == NULL ? takt_onnx_vector(c, 1, &count) : TAKT_NONE;
    if (shape != TAKT_NONE)
        return by_values(c, shape, count);
    const takt_type *t = takt_onnx_type(c, 0);
    const takt_dim *dims = takt_onnx_dims(c, 1, &count);
    takt_type want = {.dtype = t->dtype, .rank = (int)count};
    bool fits = false;
    if (c->status != TAKT_OK)
        return c->status;
    if (count > TAKT_MAX_RANK)
        return takt_onnx_refuse(c, "%zu dimensions", count);
    for (size_t i = 0; i < count; i++)
        want.dim[i] = dims[i];
    const takt_id x = meet(c, takt_onnx_in(c, 0), &want);
    if (x == TAKT_NONE || c->status != TAKT_OK)
        return c->status;
    takt_type out = *takt_type_of(c->g, x);
    TAKT_TRY(takt_type_broadcast(c->g->dims, &out, &want, &fits));
    if (!fits)
        return takt_onnx_refuse(c, "the shapes do not broadcast");
    return takt_onnx_done(c, takt_broadcast(c->g, x, out.dim, (size_t)out.rank));
}

const takt_onnx_op takt_onnx_Expand = {.names = {"Expand"}, .adapt = adapt};
