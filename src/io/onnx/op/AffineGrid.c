/* AffineGrid.c - AffineGrid: where the points of a regular grid go under an affine map. */
#include "io/onnx/adapt.h"

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

static takt_status adapt(takt_call *c)
{
    const takt_ints size = takt_onnx_known_ints(c, 1);
    const takt_type t = *takt_onnx_type(c, 0);
    const bool corners = takt_onnx_i(c, "align_corners", 0) != 0;
    if (c->status != TAKT_OK)
        return c->status;
    const int rank = (int)size.count - 2;
    if (rank < 2 || rank > 3 || t.rank != 3)
        return takt_onnx_refuse(c, "a size of %zu numbers", size.count);
    takt_dim out[5] = {size.at[0]};
    int64_t total = 1;
    for (int i = 0; i < rank; i++) {
        out[i + 1] = size.at[i + 2];
        if (size.at[i + 2] < 1 || size.at[i + 2] > 1 << 14 || (total *= size.at[i + 2]) > 1 << 24)
            return takt_onnx_refuse(c, "a size of %lld", (long long)size.at[i + 2]);
    }
    out[rank + 1] = rank;
    const takt_id base = points(c, t.dtype, size.at + 2, rank, corners);
    const takt_id y = takt_matmul(c->g, base, takt_onnx_in(c, 0), false, true);
    return takt_onnx_done(c, y == TAKT_NONE ? y : takt_reshape(c->g, y, out, (size_t)rank + 2));
}

const takt_onnx_op takt_onnx_AffineGrid = {.names = {"AffineGrid"}, .adapt = adapt};
