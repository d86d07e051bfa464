/* Fourier.c - DFT and STFT as products with constant matrices.
 *
 * Elements r and n - r of a row have the same cosine and opposite sines. So their sum meets the
 * cosines and their difference the sines: each product has half the rows, or, where n elements are
 * the result, half the columns.
 */
#include <math.h>

#include "io/onnx/control.h"
#include "io/onnx/lengths.h"

/* A part of the matrix of angles 2 pi r k / n, r counting rows and k columns. */
typedef struct part {
    int64_t row, rows, column, columns, n;
} part;

/* The cosine of 2 pi * turns / n, or its sine times `sign`. */
static double wave(int64_t turns, int64_t n, double sign)
{
    const double angle = 2 * 3.14159265358979323846 * (double)turns / (double)n;
    return sign == 0 ? cos(angle) : sign * sin(angle);
}

/* Its cosines, or its sines times `sign`. There are n different ones, each computed once. */
static takt_id waves(takt_call *c, takt_dtype dtype, const part *t, double sign)
{
    double *v = takt_onnx_get(c, (size_t)(t->rows * t->columns), sizeof *v);
    double *each = takt_onnx_get(c, (size_t)t->n, sizeof *each);
    if (v == NULL || each == NULL)
        return TAKT_NONE;
    for (int64_t i = 0; i < t->n; i++)
        each[i] = wave(i, t->n, sign);
    for (int64_t r = 0; r < t->rows; r++) {
        const int64_t row = (t->row + r) % t->n;
        for (int64_t k = 0, turns = row * t->column % t->n; k < t->columns; k++) {
            v[r * t->columns + k] = each[turns];
            turns += turns + row < t->n ? row : row - t->n;
        }
    }
    const int64_t dims[2] = {t->rows, t->columns};
    return takt_onnx_floats(c, dtype, v, dims, 2);
}

/* Transforms of up to 16384 elements, and tables within the limit of a tensor. */
static takt_status check_size(takt_call *c, int64_t rows, int64_t columns, int64_t n)
{
    if (rows < 1 || columns < 1 || rows > 1 << 14 || columns > 1 << 14 ||
        (uint64_t)(rows * columns) > c->g->ctx->limits.tensor_bytes / sizeof(float))
        return takt_onnx_refuse(c, "a transform of %lld", (long long)n);
    return TAKT_OK;
}

/* The number of elements of n that have a mirror image: all but 0 and the middle. */
static int64_t pairs_of(int64_t n)
{
    return (n - 1) / 2;
}

/* Pairs that are added before the product: none in 16 bits, which would round their sums. */
static int64_t folded_of(takt_dtype dtype, int64_t n)
{
    return dtype == TAKT_F32 || dtype == TAKT_F64 ? pairs_of(n) : 0;
}

/* ---- elements to frequencies ---- */

/* Columns and direction of a transform of n elements. */
typedef struct span {
    int64_t columns, n;
    double sign;
} span;

/* [..., n] to the sums [..., n / 2 + 1] and the differences [..., pairs] of pairs. Without pairs
 * both are the row itself. */
static void fold(takt_graph *g, takt_id x, int64_t n, takt_id out[2])
{
    out[0] = out[1] = x;
    if (x == TAKT_NONE)
        return;
    const int64_t pairs = folded_of(takt_type_of(g, x)->dtype, n);
    if (pairs == 0)
        return;
    const takt_id near = takt_slice(g, x, -1, 1, pairs + 1, 1);
    const takt_id far = takt_slice(g, x, -1, n - 1, n - 1 - pairs, -1);
    const takt_id sums[3] = {takt_slice(g, x, -1, 0, 1, 1), takt_add(g, near, far),
                             n % 2 == 0 ? takt_slice(g, x, -1, n / 2, n / 2 + 1, 1) : TAKT_NONE};
    out[0] = takt_concat(g, sums, n % 2 == 0 ? 3 : 2, -1);
    out[1] = takt_sub(g, near, far);
}

/* Transforms parts [..., n] to parts in a new last axis. */
static takt_id transform(takt_call *c, const takt_id x[2], takt_dtype dtype, const span *t)
{
    takt_graph *g = c->g;
    const int64_t n = t->n, pairs = folded_of(dtype, n);
    const takt_id even =
        waves(c, dtype, &(part){0, pairs > 0 ? n / 2 + 1 : n, 0, t->columns, n}, 0);
    const takt_id odd =
        waves(c, dtype, &(part){pairs > 0, pairs > 0 ? pairs : n, 0, t->columns, n}, t->sign);
    takt_id real[2], imaginary[2];
    fold(g, x[0], n, real);
    takt_id re = takt_matmul(g, real[0], even, false, false);
    takt_id im = takt_matmul(g, real[1], odd, false, false);
    if (x[1] != TAKT_NONE) {
        fold(g, x[1], n, imaginary);
        re = takt_sub(g, re, takt_matmul(g, imaginary[1], odd, false, false));
        im = takt_add(g, im, takt_matmul(g, imaginary[0], even, false, false));
    }
    if (re == TAKT_NONE || im == TAKT_NONE)
        return TAKT_NONE;
    const double factor = t->sign > 0 ? 1 / (double)n : 1;
    const takt_named_attr axis = {"axis", takt_attr_i64(-1)};
    const takt_id pair[2] = {factor == 1 ? re : takt_mul_scalar(g, re, factor),
                             factor == 1 ? im : takt_mul_scalar(g, im, factor)};
    return takt_graph_call(g, &takt_op_stack, 2, pair, 1, &axis);
}

/* Real and imaginary part of [..., 1 or 2]. */
static void parts(takt_call *c, takt_id x, takt_id out[2])
{
    const takt_type t = *takt_type_of(c->g, x);
    out[0] = takt_onnx_squeeze(c, takt_slice(c->g, x, -1, 0, 1, 1), -1);
    out[1] = t.dim[t.rank - 1] == 2 ? takt_onnx_squeeze(c, takt_slice(c->g, x, -1, 1, 2, 1), -1)
                                    : TAKT_NONE;
}

static takt_id swapped(takt_call *c, takt_id x, int axis, int with)
{
    int64_t perm[TAKT_MAX_RANK];
    if (x == TAKT_NONE || axis == with)
        return x;
    const int rank = takt_type_of(c->g, x)->rank;
    for (int i = 0; i < rank; i++)
        perm[i] = i == axis ? with : i == with ? axis : i;
    return takt_transpose(c->g, x, perm, (size_t)rank);
}

/* Truncated or zero-padded to `n` elements on the last axis. */
static takt_id fitted(takt_call *c, takt_id x, int64_t n)
{
    if (x == TAKT_NONE)
        return x;
    const takt_type t = *takt_type_of(c->g, x);
    const int64_t size = t.dim[t.rank - 1];
    if (size >= n)
        return size == n ? x : takt_slice(c->g, x, -1, 0, n, 1);
    int64_t before[TAKT_MAX_RANK] = {0};
    takt_dim after[TAKT_MAX_RANK] = {0};
    after[t.rank - 1] = n - size;
    const takt_named_attr attrs[] = {{"before", takt_attr_i64s(before, (size_t)t.rank)},
                                     {"after", takt_attr_shape(after, (size_t)t.rank)}};
    return takt_onnx_op1(c, &takt_op_pad, x, 2, attrs);
}

/* ---- frequencies to real elements ---- */

/* For parts [..., n / 2 + 1]: each frequency counts twice, except the first and, for even n, the
 * last. Elements r and n - r are the difference and the sum of the same two products. */
static takt_id elements(takt_call *c, const takt_id x[2], takt_dtype dtype, int64_t n)
{
    takt_graph *g = c->g;
    const int64_t half = n / 2 + 1, pairs = pairs_of(n);
    double *twice = takt_onnx_get(c, (size_t)half, sizeof *twice);
    if (twice == NULL)
        return TAKT_NONE;
    for (int64_t i = 0; i < half; i++)
        twice[i] = (i == 0 || (n % 2 == 0 && i == half - 1) ? 1 : 2) / (double)n;
    const takt_id w = takt_onnx_floats(c, dtype, twice, &half, 1);
    const takt_id even = waves(c, dtype, &(part){0, half, 0, half, n}, 0);
    const takt_id p = takt_matmul(g, takt_mul(g, x[0], w), even, false, false);
    if (pairs == 0)
        return takt_slice(g, p, -1, 0, n, 1);
    const takt_id odd = waves(c, dtype, &(part){0, half, 1, pairs, n}, 1);
    const takt_id q = takt_matmul(g, takt_mul(g, x[1], w), odd, false, false);
    const takt_id inner = takt_slice(g, p, -1, 1, pairs + 1, 1);
    const takt_id far = takt_slice(g, takt_add(g, inner, q), -1, INT64_MAX, -INT64_MAX, -1);
    const takt_id near[2] = {takt_slice(g, p, -1, 0, 1, 1), takt_sub(g, inner, q)};
    const takt_id middle = takt_slice(g, p, -1, pairs + 1, half, 1);
    const takt_id all[4] = {near[0], near[1], n % 2 == 0 ? middle : far, far};
    return takt_concat(g, all, n % 2 == 0 ? 4 : 3, -1);
}

/* An axis that the run finds: one of those whose size is a number, the last one holds the parts. */
static takt_status dft_by_axis(takt_call *c, const takt_type *t)
{
    int64_t axes[TAKT_MAX_RANK];
    size_t count = 0;
    const bool is_half = takt_onnx_i(c, "onesided", 0) != 0;
    const bool is_back = is_half && takt_onnx_i(c, "inverse", 0) != 0;
    const int64_t least = is_back ? 2 : 1; /* one frequency alone is of no elements */
    for (int i = 0; i < t->rank - 1; i++)
        if (takt_dim_is_number(t->dim[i]) && t->dim[i] >= least && t->dim[i] <= 1 << 14)
            axes[count++] = i;
    if (count < 2)
        (void)takt_onnx_known_i(c, 2, -2);
    return count < 2 ? c->status
                     : takt_onnx_by_axis(c, 2, axes, count, is_half || takt_onnx_has(c, 1));
}

static takt_status dft(takt_call *c)
{
    const takt_type t = *takt_onnx_type(c, 0);
    if (c->opset >= 20 && takt_onnx_has(c, 2) && takt_onnx_peek(c, 2) == NULL &&
        c->status == TAKT_OK)
        return dft_by_axis(c, &t);
    const bool inverse = takt_onnx_i(c, "inverse", 0) != 0;
    const bool one_sided = takt_onnx_i(c, "onesided", 0) != 0;
    const int64_t length = takt_onnx_known_i(c, 1, -1);
    const int64_t place = c->opset >= 20 ? takt_onnx_known_i(c, 2, -2) : takt_onnx_i(c, "axis", 1);
    const int axis = takt_onnx_axis(c, place, t.rank);
    if (c->status != TAKT_OK)
        return c->status;
    if (!takt_dim_is_number(t.dim[axis]) || t.dim[axis] > INT32_MAX || axis == t.rank - 1)
        return takt_onnx_refuse(c, "axis %d of rank %d", axis, t.rank);
    takt_id x[2];
    parts(c, takt_onnx_in(c, 0), x);
    const int last = t.rank - 2;
    if (inverse && one_sided) { /* the other half is the mirrored conjugate, and the result real */
        const int64_t n = length > 0 ? length : 2 * (t.dim[axis] - 1);
        for (int i = 0; i < 2; i++)
            x[i] = fitted(c, swapped(c, x[i], axis, last), n / 2 + 1);
        TAKT_TRY(check_size(c, n / 2 + 1, n, n));
        if (x[0] == TAKT_NONE || x[1] == TAKT_NONE)
            return takt_onnx_refuse(c, "a real input");
        const takt_id y = elements(c, x, t.dtype, n);
        return takt_onnx_done(c, takt_onnx_unsqueeze(c, swapped(c, y, axis, last), t.rank - 1));
    }
    const int64_t n = length > 0 ? length : t.dim[axis];
    for (int i = 0; i < 2; i++)
        x[i] = fitted(c, swapped(c, x[i], axis, last), n);
    const span whole = {one_sided ? n / 2 + 1 : n, n, inverse ? 1 : -1};
    TAKT_TRY(check_size(c, n, whole.columns, n));
    const takt_id y = transform(c, x, t.dtype, &whole);
    return takt_onnx_done(c, swapped(c, y, axis, last));
}

/* 0, 1, 2, ... along axis `axis` of [rows, 1] or [1, columns]. */
static takt_id counted(takt_call *c, takt_dim rows, takt_dim columns, int axis)
{
    const takt_dim grid[2] = {rows, columns};
    const takt_named_attr attrs[] = {{"shape", takt_attr_shape(grid, 2)},
                                     {"axis", takt_attr_i64(axis)}};
    return takt_graph_call(c->g, &takt_op_iota, 0, NULL, 2, attrs);
}

/* Frames of a signal: numbers, or values that a run finds. */
typedef struct frames {
    takt_dim length, n, count;
    takt_id step, size; /* scalars; `size` has the value of n */
} frames;

/* A setting as a scalar: its number, or the value of the input. */
static takt_id setting(takt_call *c, size_t input, int64_t fallback, int64_t *known)
{
    size_t count;
    *known = fallback;
    if (!takt_onnx_has(c, input) || takt_onnx_peek(c, input) != NULL)
        *known = takt_onnx_known_i(c, input, fallback);
    else {
        const takt_id v = takt_onnx_vector(c, input, &count);
        if (v != TAKT_NONE && count == 1)
            return takt_onnx_item(c, v, 0);
        (void)takt_onnx_known_i(c, input, fallback);
    }
    return TAKT_NONE;
}

static takt_status count_frames(takt_call *c, takt_id x, bool is_known, int64_t step, frames *f)
{
    takt_dims *dims = c->g->dims;
    if (is_known) {
        TAKT_TRY(takt_dim_make(dims, TAKT_DIM_SUB, f->length, f->n, &f->count));
        TAKT_TRY(takt_dim_make(dims, TAKT_DIM_FLOORDIV, f->count, step, &f->count));
        return takt_dim_make(dims, TAKT_DIM_ADD, f->count, 1, &f->count);
    }
    /* A step below 1 makes the size negative, which fails the run. */
    const takt_id left = takt_sub(c->g, takt_onnx_size(c, x, 1), f->size);
    const takt_id by = takt_onnx_with(c, &takt_op_max, f->step, 1);
    const takt_id count = takt_onnx_with(c, &takt_op_add, takt_onnx_floordiv(c, left, by), 1);
    const takt_id is_good = takt_onnx_with(c, &takt_op_ge, f->step, 1);
    f->count = takt_onnx_length(c, takt_select(c->g, is_good, count, takt_scalar_i64(c->g, -1)),
                                takt_onnx_at_most(f->length));
    return c->status;
}

static takt_status read_frames(takt_call *c, takt_id x, frames *f)
{
    int64_t step, n;
    f->step = setting(c, 1, 0, &step);
    f->size = setting(c, 3, -1, &n);
    const takt_type *window = takt_onnx_has(c, 2) ? takt_onnx_type(c, 2) : NULL;
    const bool has_window = window != NULL && window->rank == 1;
    if (c->status != TAKT_OK)
        return c->status;
    if (n < 1 && has_window && takt_dim_is_number(window->dim[0]))
        n = window->dim[0];
    const bool finds_n = n < 1 && f->size != TAKT_NONE, finds_step = f->step != TAKT_NONE;
    const takt_dim most = f->length;
    if ((n < 1 && !finds_n) || (step < 1 && !finds_step) ||
        (takt_dim_is_number(most) && (n > most || most > INT32_MAX)))
        return takt_onnx_refuse(c, "frames of %lld", (long long)n);
    if (finds_n) { /* a frame of no elements makes the size negative, which fails the run */
        const takt_id is_good = takt_onnx_with(c, &takt_op_ge, f->size, 1);
        const takt_id found = takt_select(c->g, is_good, f->size, takt_scalar_i64(c->g, -1));
        n = takt_onnx_length(c, found, takt_onnx_at_most(most));
    }
    f->n = n;
    f->size = finds_n ? f->size : takt_scalar_i64(c->g, f->n);
    f->step = finds_step ? f->step : takt_scalar_i64(c->g, step);
    return c->status != TAKT_OK ? c->status : count_frames(c, x, !finds_n && !finds_step, step, f);
}

/* The matrix of angles of a number of elements that a run finds, and its parts of the result. */
static takt_id transform_found(takt_call *c, const takt_id x[2], const frames *f, takt_dim columns)
{
    takt_graph *g = c->g;
    const takt_dtype dtype = takt_type_of(g, x[0])->dtype;
    const takt_id turns = takt_onnx_modulo(
        c, takt_mul(g, counted(c, f->n, 1, 0), counted(c, 1, columns, 1)), f->size);
    const takt_id n = takt_onnx_cast(c, f->size, TAKT_F64);
    const takt_id angle = takt_div(
        g, takt_mul_scalar(g, takt_onnx_cast(c, turns, TAKT_F64), 2 * 3.14159265358979323846), n);
    const takt_id even = takt_onnx_cast(c, takt_unary(g, &takt_op_cos, angle), dtype);
    const takt_id sines = takt_onnx_cast(c, takt_unary(g, &takt_op_sin, angle), dtype);
    const takt_id odd = takt_mul_scalar(g, sines, -1);
    takt_id re = takt_matmul(g, x[0], even, false, false);
    takt_id im = takt_matmul(g, x[0], odd, false, false);
    if (x[1] != TAKT_NONE) {
        re = takt_sub(g, re, takt_matmul(g, x[1], odd, false, false));
        im = takt_add(g, im, takt_matmul(g, x[1], even, false, false));
    }
    if (re == TAKT_NONE || im == TAKT_NONE)
        return TAKT_NONE;
    return takt_graph_call(g, &takt_op_stack, 2, (takt_id[]){re, im}, 1,
                           &(takt_named_attr){"axis", takt_attr_i64(-1)});
}

/* [batch, length] to [batch, frames, n], times the window. */
static takt_id framed(takt_call *c, takt_id x, const frames *f)
{
    const takt_id first = takt_mul(c->g, counted(c, f->count, 1, 0), f->step);
    const takt_id at = takt_add(c->g, first, counted(c, 1, f->n, 1));
    x = takt_onnx_gather(c, x, at, 1);
    return takt_onnx_has(c, 2) ? takt_mul(c->g, x, takt_onnx_in(c, 2)) : x;
}

/* The signal is [batch, length, 1 or 2]; a real one may also be [batch, length]. */
static takt_status stft(takt_call *c)
{
    const takt_type t = *takt_onnx_type(c, 0);
    const bool one_sided = takt_onnx_i(c, "onesided", 1) != 0;
    takt_id x[2] = {takt_onnx_in(c, 0), TAKT_NONE};
    frames f = {.length = t.dim[1]};
    if (c->status != TAKT_OK)
        return c->status;
    if (t.rank != 2 && t.rank != 3)
        return takt_onnx_refuse(c, "a signal of rank %d", t.rank);
    TAKT_TRY(read_frames(c, x[0], &f));
    if (t.rank == 3)
        parts(c, takt_onnx_in(c, 0), x);
    for (int i = 0; i < 2; i++)
        x[i] = x[i] != TAKT_NONE ? framed(c, x[i], &f) : x[i];
    if (takt_dim_is_number(f.n)) {
        const span whole = {one_sided ? f.n / 2 + 1 : f.n, f.n, -1};
        TAKT_TRY(check_size(c, f.n, whole.columns, f.n));
        return takt_onnx_done(c, transform(c, x, t.dtype, &whole));
    }
    takt_dim columns = f.n;
    if (one_sided) {
        TAKT_TRY(takt_dim_make(c->g->dims, TAKT_DIM_FLOORDIV, f.n, 2, &columns));
        TAKT_TRY(takt_dim_make(c->g->dims, TAKT_DIM_ADD, columns, 1, &columns));
    }
    if (x[0] == TAKT_NONE)
        return takt_onnx_done(c, TAKT_NONE);
    return takt_onnx_done(c, transform_found(c, x, &f, columns));
}

static takt_status adapt(takt_call *c)
{
    return takt_span_is(c->node->op, "DFT") ? dft(c) : stft(c);
}

const takt_onnx_op takt_onnx_Fourier = {.names = {"DFT", "STFT"}, .adapt = adapt};
