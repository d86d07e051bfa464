/* Split.c - Split: sizes from an attribute, an input, or equal ones. */
#include "io/onnx/lengths.h"

static takt_status by_values(takt_call *c, takt_id sizes, size_t count)
{
    takt_id parts[TAKT_MAX_RANK];
    if (count != c->out_count)
        return takt_onnx_refuse(c, "%zu sizes for %zu results", count, c->out_count);
    TAKT_TRY(takt_onnx_parts(c, sizes, count, parts));
    for (size_t i = 0; i < count; i++)
        takt_onnx_set(c, i, parts[i]);
    return c->status;
}

static takt_status adapt(takt_call *c)
{
    size_t many = 0;
    const bool is_known =
        takt_onnx_ints(c, "split").is_set || !takt_onnx_has(c, 1) || takt_onnx_peek(c, 1) != NULL;
    const takt_id found = is_known ? TAKT_NONE : takt_onnx_vector(c, 1, &many);
    if (found != TAKT_NONE)
        return by_values(c, found, many);
    const takt_type *x = takt_onnx_type(c, 0);
    const takt_id in = takt_onnx_in(c, 0);
    const int axis = takt_onnx_axis(c, takt_onnx_i(c, "axis", 0), x->rank);
    takt_ints sizes = takt_onnx_list(c, "split", 1);
    const size_t parts = c->out_count;
    int64_t *equal = takt_onnx_get(c, parts, sizeof *equal);
    if (c->status != TAKT_OK)
        return c->status;
    if (parts == 0)
        return takt_onnx_refuse(c, "it has no results");
    if (!sizes.is_set) {
        takt_dim whole;
        TAKT_TRY(takt_dim_resolve(c->g->dims, x->dim[axis], &whole));
        if (!takt_dim_is_number(whole))
            return takt_onnx_refuse_size(c, "equal parts of a dimension without a number");
        const int64_t size = whole / (int64_t)parts + (whole % (int64_t)parts != 0);
        int64_t left = whole;
        for (size_t i = 0; i < parts; i++, left -= equal[i - 1])
            equal[i] = left < size ? left : size;
        sizes = (takt_ints){equal, parts, true};
    }
    if (sizes.count != parts)
        return takt_onnx_refuse(c, "%zu sizes for %zu results", sizes.count, parts);
    int64_t at = 0;
    for (size_t i = 0; i < parts; i++) {
        if (sizes.at[i] < 0 || sizes.at[i] > INT64_MAX - at)
            return takt_onnx_refuse(c, "a size is negative or too large");
        takt_onnx_set(c, i, takt_slice(c->g, in, axis, at, at + sizes.at[i], 1));
        at += sizes.at[i];
    }
    if (takt_dim_is_number(x->dim[axis]) && at != x->dim[axis])
        return takt_onnx_refuse(c, "the sizes add up to %lld of %lld", (long long)at,
                                (long long)x->dim[axis]);
    return c->status;
}

const takt_onnx_op takt_onnx_Split = {.names = {"Split"}, .adapt = adapt};
