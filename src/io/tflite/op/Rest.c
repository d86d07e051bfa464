/* Rest.c - REVERSE_SEQUENCE, MATRIX_DIAG, MATRIX_SET_DIAG, BUCKETIZE and DILATE. */
#include "io/tflite/adapt.h"

static takt_id counted(takt_tfl_call *c, const int64_t *dims, int rank, int axis)
{
    const takt_named_attr attrs[] = {{"shape", takt_attr_shape(&dims[axis], 1)}};
    int64_t line[TAKT_MAX_RANK];
    for (int d = 0; d < rank; d++)
        line[d] = d == axis ? dims[d] : 1;
    return takt_tfl_shape(c, takt_graph_call(c->g, &takt_op_iota, 0, NULL, 1, attrs), line, rank);
}

/* Reverses the first elements of each row, up to its length. */
static takt_id reversed(takt_tfl_call *c, takt_id x, const takt_type *t)
{
    takt_graph *g = c->g;
    const int axis = takt_tfl_axis(c, takt_tfl_i32(c, 0, 0), t->rank),
              batch = takt_tfl_axis(c, takt_tfl_i32(c, 1, 0), t->rank);
    int64_t line[TAKT_MAX_RANK];
    for (int d = 0; d < t->rank; d++)
        line[d] = d == batch ? t->dim[d] : 1;
    const takt_id length =
        takt_tfl_cast(c, takt_tfl_shape(c, takt_tfl_need(c, 1), line, t->rank), TAKT_I64);
    const takt_id place = counted(c, t->dim, t->rank, axis);
    if (axis == batch)
        (void)takt_tfl_refuse(c, "one axis for rows and their elements");
    if (length == TAKT_NONE || place == TAKT_NONE || !takt_tfl_good(c))
        return TAKT_NONE;
    const takt_id back = takt_sub(g, takt_sub(g, length, takt_scalar_i64(g, 1)), place);
    const takt_id at = takt_select(g, takt_binary(g, &takt_op_lt, place, length), back, place);
    const takt_named_attr attr = {"axis", takt_attr_i64(axis)};
    return takt_tfl_op2(c, &takt_op_gather_elements, x,
                        takt_broadcast(g, at, t->dim, (size_t)t->rank), 1, &attr);
}

/* Where rows and columns of the last two axes agree. */
static takt_id diagonal(takt_tfl_call *c, int64_t rows, int64_t columns)
{
    const int64_t dims[] = {rows, columns};
    return takt_tfl_op2(c, &takt_op_eq, counted(c, dims, 2, 0), counted(c, dims, 2, 1), 0, NULL);
}

static takt_id spread(takt_tfl_call *c, takt_id x, const takt_type *t)
{
    if (t->rank < 1 || t->rank >= TAKT_MAX_RANK) {
        (void)takt_tfl_refuse(c, "%d axes", t->rank);
        return TAKT_NONE;
    }
    const int64_t n = t->dim[t->rank - 1];
    const takt_id mask = diagonal(c, n, n), row = takt_tfl_unsqueeze(c, x, t->rank);
    return mask == TAKT_NONE || row == TAKT_NONE
               ? TAKT_NONE
               : takt_select(c->g, mask, row, takt_tfl_number(c, t->dtype, 0));
}

static takt_id set(takt_tfl_call *c, takt_id x, const takt_type *t)
{
    const takt_id values = takt_tfl_need(c, 1);
    if (t->rank < 2 || values == TAKT_NONE) {
        (void)takt_tfl_refuse(c, "an input that is not a matrix");
        return TAKT_NONE;
    }
    const int64_t rows = t->dim[t->rank - 2], columns = t->dim[t->rank - 1];
    const takt_id line = takt_tfl_unsqueeze(c, values, rows <= columns ? -1 : -2);
    const takt_id mask = diagonal(c, rows, columns);
    return mask == TAKT_NONE || line == TAKT_NONE ? TAKT_NONE : takt_select(c->g, mask, line, x);
}

/* Number of boundaries at or below each number. */
static takt_id bucket(takt_tfl_call *c, takt_id x, const takt_type *t)
{
    const takt_flat_vector v = takt_flat_list(c->flat, &c->op->options, 0, 4);
    double *at = takt_tfl_get(c, v.count, sizeof *at);
    const int64_t count = (int64_t)v.count, last = -1;
    for (size_t i = 0; at != NULL && i < v.count; i++)
        at[i] = (double)takt_flat_f32_at(c->flat, v, i);
    if (at == NULL || !takt_tfl_good(c) || t->rank >= TAKT_MAX_RANK)
        return TAKT_NONE;
    const takt_id wide = takt_tfl_unsqueeze(c, takt_tfl_cast(c, x, TAKT_F32), t->rank);
    const takt_id above =
        takt_tfl_op2(c, &takt_op_ge, wide, takt_tfl_make_f(c, TAKT_F32, at, &count, 1), 0, NULL);
    return above == TAKT_NONE
               ? above
               : takt_reduce_over(c->g, &takt_op_reduce_sum, takt_tfl_cast(c, above, TAKT_I32),
                                  &last, 1, false);
}

/* Spreads elements along one axis after the other, with a value between them. */
static takt_id dilated(takt_tfl_call *c, takt_id x, const takt_type *t)
{
    const takt_tfl_ints by = takt_tfl_known(c, 1);
    const double value = takt_tfl_known_f(c, 2);
    takt_type now = *t;
    if (by.count != (size_t)t->rank || t->rank >= TAKT_MAX_RANK)
        (void)takt_tfl_refuse(c, "%zu distances for %d axes", by.count, t->rank);
    for (int d = 0; d < t->rank && takt_tfl_good(c); d++) {
        const int64_t n = now.dim[d], k = by.at[d];
        int64_t before[TAKT_MAX_RANK] = {0}, after[TAKT_MAX_RANK] = {0};
        if (k < 1 || k > INT32_MAX || n > INT32_MAX)
            (void)takt_tfl_refuse(c, "a distance of %lld", (long long)k);
        if (k == 1 || n < 1)
            continue;
        after[d + 1] = k - 1;
        const takt_id apart =
            takt_tfl_pad(c, takt_tfl_unsqueeze(c, x, d + 1), before, after, value);
        now.dim[d] = n * k;
        x = takt_tfl_shape(c, apart, now.dim, t->rank);
        now.dim[d] = (n - 1) * k + 1;
        x = x == TAKT_NONE ? x : takt_slice(c->g, x, d, 0, now.dim[d], 1);
    }
    return x;
}

static takt_status adapt(takt_tfl_call *c)
{
    const takt_id x = takt_tfl_need(c, 0);
    const takt_type t = *takt_type_of(c->g, x);
    if (!takt_tfl_good(c))
        return c->status;
    return takt_tfl_done(c, takt_tfl_is(c, "REVERSE_SEQUENCE")  ? reversed(c, x, &t)
                            : takt_tfl_is(c, "MATRIX_DIAG")     ? spread(c, x, &t)
                            : takt_tfl_is(c, "MATRIX_SET_DIAG") ? set(c, x, &t)
                            : takt_tfl_is(c, "BUCKETIZE")       ? bucket(c, x, &t)
                                                                : dilated(c, x, &t));
}

const takt_tflite_op takt_tflite_Rest = {
    .names = {"REVERSE_SEQUENCE", "MATRIX_DIAG", "MATRIX_SET_DIAG", "BUCKETIZE", "DILATE"},
    .adapt = adapt};
