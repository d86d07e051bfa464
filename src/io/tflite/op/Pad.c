/* Pad.c - PAD, PADV2 and MIRROR_PAD with known amounts. */
#include "io/tflite/quant.h"

static takt_id mirrored(takt_tfl_call *c, takt_id x, const int64_t *before, const int64_t *after,
                        int rank)
{
    const bool is_symmetric = takt_tfl_u8(c, 0, 0) != 0;
    const takt_named_attr attrs[] = {{"before", takt_attr_i64s(before, (size_t)rank)},
                                     {"after", takt_attr_shape(after, (size_t)rank)},
                                     {"mode", takt_attr_i64(2)}};
    if (!is_symmetric)
        return takt_tfl_op1(c, &takt_op_pad, x, 3, attrs);
    for (int d = 0; d < rank && takt_tfl_good(c); d++) { /* edges too are repeated */
        const takt_id first = takt_slice(c->g, x, d, before[d] - 1, INT64_MIN + 1, -1);
        const int64_t size = takt_type_of(c->g, x)->dim[d];
        const takt_id last =
            takt_slice(c->g, x, d, size - 1,
                       size - 1 - after[d] < 0 ? INT64_MIN + 1 : size - 1 - after[d], -1);
        takt_id parts[3];
        size_t n = 0;
        if (before[d] > size || after[d] > size)
            (void)takt_tfl_refuse(c, "a border wider than the input");
        if (before[d] > 0)
            parts[n++] = first;
        parts[n++] = x;
        if (after[d] > 0)
            parts[n++] = last;
        if (takt_tfl_good(c) && n > 1)
            x = takt_concat(c->g, parts, n, d);
    }
    return x;
}

static takt_status adapt(takt_tfl_call *c)
{
    const takt_id x = takt_tfl_need(c, 0);
    const takt_type t = *takt_type_of(c->g, x);
    const takt_tfl_tensor *tx = takt_tfl_tensor_in(c, 0);
    const takt_tfl_ints given = takt_tfl_known(c, 1);
    int64_t before[TAKT_MAX_RANK], after[TAKT_MAX_RANK];
    double value = 0;
    if (!takt_tfl_good(c))
        return c->status;
    if (given.count != 2 * (size_t)t.rank)
        return takt_tfl_refuse(c, "%zu amounts for %d axes", given.count, t.rank);
    for (int d = 0; d < t.rank; d++) {
        before[d] = given.at[2 * d];
        after[d] = given.at[2 * d + 1];
        if (before[d] < 0 || after[d] < 0)
            return takt_tfl_refuse(c, "a negative amount");
    }
    if (takt_tfl_is(c, "MIRROR_PAD"))
        return takt_tfl_done(c, mirrored(c, x, before, after, t.rank));
    if (takt_tfl_has(c, 2))
        value = takt_tfl_known_f(c, 2);
    else if (takt_tfl_is_quantised(tx))
        value = takt_tfl_quant_of(c, tx).zero;
    return takt_tfl_done(c, takt_tfl_pad(c, x, before, after, value));
}

const takt_tflite_op takt_tflite_Pad = {.names = {"PAD", "PADV2", "MIRROR_PAD"}, .adapt = adapt};
