/* Move.c - data movement: TRANSPOSE, TILE, BROADCAST_TO, REVERSE_V2 and similar. */
#include <string.h>

#include "io/tflite/quant.h"

static takt_id transposed(takt_tfl_call *c, takt_id x, const takt_type *t)
{
    const takt_tfl_ints p = takt_tfl_known(c, 1);
    int64_t perm[TAKT_MAX_RANK];
    if (p.count != (size_t)t->rank) {
        (void)takt_tfl_refuse(c, "an order of %zu axes for %d", p.count, t->rank);
        return TAKT_NONE;
    }
    for (int d = 0; d < t->rank; d++)
        perm[d] = takt_tfl_axis(c, p.at[d], t->rank);
    return takt_tfl_good(c) ? takt_transpose(c->g, x, perm, (size_t)t->rank) : TAKT_NONE;
}

static takt_id tiled(takt_tfl_call *c, takt_id x, const takt_type *t)
{
    const takt_tfl_ints n = takt_tfl_known(c, 1);
    if (n.count != (size_t)t->rank) {
        (void)takt_tfl_refuse(c, "%zu repeats of %d axes", n.count, t->rank);
        return TAKT_NONE;
    }
    return takt_tfl_op1(c, &takt_op_tile, x, 1,
                        &(takt_named_attr){"repeats", takt_attr_i64s(n.at, n.count)});
}

static takt_id reversed(takt_tfl_call *c, takt_id x, const takt_type *t)
{
    const takt_tfl_ints axes = takt_tfl_known(c, 1);
    for (size_t i = 0; i < axes.count && takt_tfl_good(c); i++) {
        const int axis = takt_tfl_axis(c, axes.at[i], t->rank);
        x = takt_slice(c->g, x, axis, INT64_MAX, INT64_MIN + 1, -1);
    }
    return x;
}

/* Moves blocks of two axes into the batch, or back. */
static takt_id space_to_batch(takt_tfl_call *c, takt_id x, const takt_type *t)
{
    const takt_tfl_ints block = takt_tfl_known(c, 1), pad = takt_tfl_known(c, 2);
    const takt_tfl_tensor *tx = takt_tfl_tensor_in(c, 0);
    const int n = (int)block.count;
    int64_t before[TAKT_MAX_RANK] = {0}, after[TAKT_MAX_RANK] = {0}, dims[2 * TAKT_MAX_RANK],
            perm[2 * TAKT_MAX_RANK], back[TAKT_MAX_RANK];
    if (!takt_tfl_good(c) || n < 1 || n + 1 > t->rank || pad.count != 2 * block.count ||
        t->rank + n > TAKT_MAX_RANK) {
        (void)takt_tfl_refuse(c, "blocks that do not fit the input");
        return TAKT_NONE;
    }
    for (int i = 0; i < n; i++) {
        before[i + 1] = pad.at[2 * i];
        after[i + 1] = pad.at[2 * i + 1];
        const int64_t size = t->dim[i + 1] + before[i + 1] + after[i + 1];
        if (before[i + 1] < 0 || after[i + 1] < 0 || block.at[i] < 1 || size % block.at[i] != 0) {
            (void)takt_tfl_refuse(c, "blocks of %lld in %lld", (long long)block.at[i],
                                  (long long)size);
            return TAKT_NONE;
        }
    }
    x = takt_tfl_pad(c, x, before, after,
                     takt_tfl_is_quantised(tx) ? takt_tfl_quant_of(c, tx).zero : 0);
    int64_t batch = t->dim[0];
    int rank = 0;
    dims[rank++] = t->dim[0];
    for (int i = 0; i < n; i++) {
        dims[rank++] = (t->dim[i + 1] + before[i + 1] + after[i + 1]) / block.at[i];
        dims[rank++] = block.at[i];
        batch *= block.at[i];
        perm[i] = 2 * i + 2;
        perm[n + 1 + i] = 2 * i + 1;
        back[i + 1] = dims[2 * i + 1];
    }
    perm[n] = 0;
    back[0] = batch;
    for (int d = n + 1; d < t->rank; d++) {
        perm[rank] = rank;
        dims[rank++] = t->dim[d];
        back[d] = t->dim[d];
    }
    const takt_id cut = takt_tfl_shape(c, x, dims, rank);
    return cut == TAKT_NONE
               ? cut
               : takt_tfl_shape(c, takt_transpose(c->g, cut, perm, (size_t)rank), back, t->rank);
}

static takt_id batch_to_space(takt_tfl_call *c, takt_id x, const takt_type *t)
{
    const takt_tfl_ints block = takt_tfl_known(c, 1), crop = takt_tfl_known(c, 2);
    const int n = (int)block.count;
    int64_t dims[2 * TAKT_MAX_RANK], perm[2 * TAKT_MAX_RANK], to[TAKT_MAX_RANK], batch = t->dim[0];
    int rank = 0;
    if (!takt_tfl_good(c) || n < 1 || n + 1 > t->rank || crop.count != 2 * block.count ||
        t->rank + n > TAKT_MAX_RANK) {
        (void)takt_tfl_refuse(c, "blocks that do not fit the input");
        return TAKT_NONE;
    }
    for (int i = 0; i < n; i++) {
        if (block.at[i] < 1 || batch % block.at[i] != 0) {
            (void)takt_tfl_refuse(c, "blocks of %lld", (long long)block.at[i]);
            return TAKT_NONE;
        }
        batch /= block.at[i];
        dims[rank++] = block.at[i];
    }
    dims[rank++] = batch;
    to[0] = batch;
    perm[0] = n;
    for (int i = 0; i < n; i++) {
        perm[2 * i + 1] = n + 1 + i;
        perm[2 * i + 2] = i;
        dims[rank++] = t->dim[i + 1];
        to[i + 1] = t->dim[i + 1] * block.at[i];
    }
    for (int d = n + 1; d < t->rank; d++) {
        perm[rank] = rank;
        dims[rank++] = t->dim[d];
        to[d] = t->dim[d];
    }
    const takt_id cut = takt_tfl_shape(c, x, dims, rank);
    takt_id y = cut == TAKT_NONE
                    ? cut
                    : takt_tfl_shape(c, takt_transpose(c->g, cut, perm, (size_t)rank), to, t->rank);
    for (int i = 0; i < n && y != TAKT_NONE; i++) {
        const int64_t end = to[i + 1] - crop.at[2 * i + 1];
        if (crop.at[2 * i] < 0 || crop.at[2 * i + 1] < 0 || end < crop.at[2 * i]) {
            (void)takt_tfl_refuse(c, "more is cut off than there is");
            return TAKT_NONE;
        }
        y = takt_slice(c->g, y, i + 1, crop.at[2 * i], end, 1);
    }
    return y;
}

/* [n, h, w, c] to blocks in channels and back. */
static takt_id depth(takt_tfl_call *c, takt_id x, const takt_type *t)
{
    static const int64_t perm[] = {0, 1, 3, 2, 4, 5};
    const int64_t b = takt_tfl_i32(c, 0, 0);
    const bool is_to = takt_tfl_is(c, "SPACE_TO_DEPTH");
    if (t->rank != 4 || b < 1 || b > 1 << 15 ||
        (is_to ? t->dim[1] % b != 0 || t->dim[2] % b != 0 : t->dim[3] % (b * b) != 0)) {
        (void)takt_tfl_refuse(c, "blocks of %lld", (long long)b);
        return TAKT_NONE;
    }
    const int64_t n = t->dim[0], h = t->dim[1], w = t->dim[2], d = t->dim[3];
    const takt_id cut = is_to ? takt_tfl_shape(c, x, (int64_t[]){n, h / b, b, w / b, b, d}, 6)
                              : takt_tfl_shape(c, x, (int64_t[]){n, h, w, b, b, d / (b * b)}, 6);
    if (cut == TAKT_NONE)
        return cut;
    if (is_to)
        return takt_tfl_shape(c, takt_transpose(c->g, cut, perm, 6),
                              (int64_t[]){n, h / b, w / b, b * b * d}, 4);
    return takt_tfl_shape(c, takt_transpose(c->g, cut, perm, 6),
                          (int64_t[]){n, h * b, w * b, d / (b * b)}, 4);
}

static takt_status adapt(takt_tfl_call *c)
{
    const takt_id x = takt_tfl_need(c, 0);
    const takt_type t = *takt_type_of(c->g, x);
    if (!takt_tfl_good(c))
        return c->status;
    if (takt_tfl_is(c, "BROADCAST_TO")) {
        const takt_tfl_ints to = takt_tfl_known(c, 1);
        if (to.count > TAKT_MAX_RANK || !takt_tfl_good(c))
            return takt_tfl_refuse(c, "%zu axes", to.count);
        return takt_tfl_done(c, takt_broadcast(c->g, x, to.at, to.count));
    }
    return takt_tfl_done(c, takt_tfl_is(c, "TRANSPOSE")           ? transposed(c, x, &t)
                            : takt_tfl_is(c, "TILE")              ? tiled(c, x, &t)
                            : takt_tfl_is(c, "REVERSE_V2")        ? reversed(c, x, &t)
                            : takt_tfl_is(c, "SPACE_TO_BATCH_ND") ? space_to_batch(c, x, &t)
                            : takt_tfl_is(c, "BATCH_TO_SPACE_ND") ? batch_to_space(c, x, &t)
                                                                  : depth(c, x, &t));
}

const takt_tflite_op takt_tflite_Move = {
    .names = {"TRANSPOSE", "TILE", "BROADCAST_TO", "REVERSE_V2", "SPACE_TO_BATCH_ND",
              "BATCH_TO_SPACE_ND", "SPACE_TO_DEPTH", "DEPTH_TO_SPACE"},
    .adapt = adapt};
