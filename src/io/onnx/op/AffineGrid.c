/* AffineGrid.c - AffineGrid: the points of a regular grid under an affine map. */
#include "io/onnx/lengths.h"

/* Rows (x, y, [z], 1) of all points, the innermost coordinate first. */
static takt_id points(takt_call *c, takt_dtype dtype, const int64_t *size, int rank, bool corners)
{
    int64_t count = 1;
    for (int i = 0; i < rank; i++)
        count *= size[i];
    double *v = takt_onnx_get(c, (size_t)(count * (rank + 1)), sizeof *v);
    if (v == NULL)
        return TAKT_NONE;
    for (int64_t p = 0; p < count; p++) {
        int64_t rest = p;
        for (int i = rank - 1; i >= 0; i--) {
            const double at = (double)(rest % size[i]), n = (double)size[i];
            rest /= size[i];
            v[p * (rank + 1) + rank - 1 - i] =
                corners ? (n > 1 ? 2 * at / (n - 1) - 1 : 0) : (2 * at + 1) / n - 1;
        }
        v[p * (rank + 1) + rank] = 1;
    }
    return takt_onnx_floats(c, dtype, v, (int64_t[]){count, rank + 1}, 2);
}

/* The coordinates along an axis of `count` points, in the layout of `points`. */
static takt_id coordinates(takt_call *c, takt_dim count, bool corners)
{
    takt_graph *g = c->g;
    const takt_id place = takt_onnx_counted(c, count), at = takt_onnx_cast(c, place, TAKT_F64);
    const takt_id one = takt_onnx_scalar(c, TAKT_F64, 1), twice = takt_add(g, at, at);
    const takt_id n = takt_onnx_cast(c, takt_onnx_size(c, place, 0), TAKT_F64);
    if (!corners)
        return takt_sub(g, takt_div(g, takt_add(g, twice, one), n), one);
    const takt_id wide = takt_binary(g, &takt_op_max, takt_sub(g, n, one), one);
    return takt_select(g, takt_binary(g, &takt_op_gt, n, one),
                       takt_sub(g, takt_div(g, twice, wide), one),
                       takt_onnx_scalar(c, TAKT_F64, 0));
}

/* The rows of `points` if sizes are names or found by a run; dims[0] is not among them. */
static takt_id computed(takt_call *c, takt_dtype dtype, const takt_dim *dims, int rank,
                        bool corners)
{
    takt_id column[4];
    for (int k = 0; k <= rank && c->status == TAKT_OK; k++) {
        const int axis = rank - 1 - k;
        takt_id v =
            k < rank ? coordinates(c, dims[axis + 1], corners) : takt_onnx_scalar(c, TAKT_F64, 1);
        for (int i = axis + 1; k < rank && i < rank && v != TAKT_NONE; i++)
            v = takt_onnx_unsqueeze(c, v, i - axis);
        if (v == TAKT_NONE)
            return v;
        takt_dim count;
        v = takt_broadcast(c->g, takt_onnx_cast(c, v, dtype), dims + 1, (size_t)rank);
        column[k] = takt_onnx_unsqueeze(c, takt_onnx_flat(c, v, &count), 1);
    }
    return c->status == TAKT_OK ? takt_concat(c->g, column, (size_t)rank + 1, 1) : TAKT_NONE;
}

static takt_status apply(takt_call *c, takt_id base, const takt_dim *out, int rank)
{
    const takt_id y =
        base != TAKT_NONE ? takt_matmul(c->g, base, takt_onnx_in(c, 0), false, true) : TAKT_NONE;
    return takt_onnx_done(c, y == TAKT_NONE ? y : takt_reshape(c->g, y, out, (size_t)rank + 2));
}

static takt_status of_numbers(takt_call *c, const int64_t *size, int rank, bool corners)
{
    takt_dim out[5] = {size[0], 0, 0, rank, rank};
    int64_t total = 1;
    for (int i = 0; i < rank; i++) {
        out[i + 1] = size[i + 2];
        if (size[i + 2] < 1 || size[i + 2] > 1 << 14 || (total *= size[i + 2]) > 1 << 24)
            return takt_onnx_refuse(c, "a size of %lld", (long long)size[i + 2]);
    }
    out[rank + 1] = rank;
    const takt_dtype dtype = takt_onnx_type(c, 0)->dtype;
    return apply(c, points(c, dtype, size + 2, rank, corners), out, rank);
}

/* Some sizes are names, or all are found by a run; there is one map for each. */
static takt_status of_names(takt_call *c, const takt_dim *size, int rank, bool corners)
{
    const takt_type t = *takt_onnx_type(c, 0);
    takt_dim out[5] = {t.dim[0], size[2], size[3], rank, rank};
    if (rank == 3)
        out[3] = size[4];
    return apply(c, computed(c, t.dtype, out, rank, corners), out, rank);
}

static takt_status of_values(takt_call *c, takt_id shape, size_t count, bool corners)
{
    const takt_onnx_bound open = takt_onnx_at_most(TAKT_LENGTH_OPEN);
    const takt_onnx_bound bounds[] = {open, open, open};
    takt_id item[3];
    takt_dim size[5] = {0};
    for (size_t i = 2; i < count; i++)
        item[i - 2] = takt_onnx_item(c, shape, i);
    takt_onnx_lengths(c, takt_onnx_pack(c, item, count - 2), bounds, count - 2, size + 2);
    return c->status == TAKT_OK ? of_names(c, size, (int)count - 2, corners) : c->status;
}

static takt_status adapt(takt_call *c)
{
    size_t count = 0;
    const takt_type t = *takt_onnx_type(c, 0);
    const bool corners = takt_onnx_i(c, "align_corners", 0) != 0;
    const takt_array *known = takt_onnx_peek(c, 1);
    const takt_syms syms = takt_onnx_peek_syms(c, 1);
    const takt_id shape = syms.at == NULL ? takt_onnx_vector(c, 1, &count) : TAKT_NONE;
    const takt_dim *size = shape == TAKT_NONE ? takt_onnx_dims(c, 1, &count) : NULL;
    if (c->status != TAKT_OK)
        return c->status;
    if (count < 4 || count > 5 || t.rank != 3)
        return takt_onnx_refuse(c, "a size of %zu numbers", count);
    if (shape != TAKT_NONE)
        return of_values(c, shape, count, corners);
    return known != NULL && known->i != NULL ? of_numbers(c, known->i, (int)count - 2, corners)
                                             : of_names(c, size, (int)count - 2, corners);
}

const takt_onnx_op takt_onnx_AffineGrid = {.names = {"AffineGrid"}, .adapt = adapt};
