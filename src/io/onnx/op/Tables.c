/* Tables.c - computed constants: windows, EyeLike, MelWeightMatrix. */
#include <math.h>

#include "io/onnx/lengths.h"

static const double pi = 3.14159265358979323846;

/* A window whose size is found at run time, in f64 as below. */
static takt_status window_by_value(takt_call *c, takt_id size)
{
    takt_graph *g = c->g;
    const bool hann = takt_span_is(c->node->op, "HannWindow");
    const bool hamming = takt_span_is(c->node->op, "HammingWindow");
    const double first = hann ? 0.5 : hamming ? 25.0 / 46 : 0.42;
    const takt_dtype dtype = takt_onnx_to(c, "output_datatype", TAKT_F32);
    const takt_dim n = takt_onnx_length(c, size, takt_onnx_at_most(TAKT_LENGTH_OPEN));
    takt_id span = takt_onnx_item(c, size, 0);
    if (takt_onnx_i(c, "periodic", 1) == 0)
        span = takt_onnx_with(c, &takt_op_sub, span, 1);
    span = takt_onnx_cast(c, takt_onnx_with(c, &takt_op_max, span, 1), TAKT_F64);
    const takt_id at = takt_onnx_cast(c, takt_onnx_counted(c, n), TAKT_F64);
    const takt_id a = takt_div(g, takt_mul_scalar(g, at, 2 * pi), span);
    takt_id y = takt_mul_scalar(g, takt_unary(g, &takt_op_cos, a), hamming ? first - 1 : -0.5);
    y = takt_add_scalar(g, y, first);
    if (!hann && !hamming)
        y = takt_add(
            g, y, takt_mul_scalar(g, takt_unary(g, &takt_op_cos, takt_mul_scalar(g, a, 2)), 0.08));
    return takt_onnx_done(c, y == TAKT_NONE ? y : takt_onnx_cast(c, y, dtype));
}

static takt_status window(takt_call *c)
{
    size_t count = 0;
    const takt_id found = takt_onnx_peek(c, 0) == NULL ? takt_onnx_vector(c, 0, &count) : TAKT_NONE;
    if (found != TAKT_NONE && count == 1)
        return window_by_value(c, found);
    const takt_ints size = takt_onnx_known_ints(c, 0);
    const takt_dtype dtype = takt_onnx_to(c, "output_datatype", TAKT_F32);
    const bool periodic = takt_onnx_i(c, "periodic", 1) != 0;
    if (c->status != TAKT_OK)
        return c->status;
    const int64_t n = size.count == 1 ? size.at[0] : -1;
    if (n < 0 || n > 1 << 24)
        return takt_onnx_refuse(c, "a size of %lld", (long long)n);
    double *v = takt_onnx_get(c, (size_t)n, sizeof *v);
    if (v == NULL)
        return TAKT_ERR_MEMORY;
    const bool hann = takt_span_is(c->node->op, "HannWindow");
    const bool hamming = takt_span_is(c->node->op, "HammingWindow");
    const double span = periodic ? (double)n : (double)(n - 1);
    for (int64_t i = 0; i < n; i++) {
        const double a = span > 0 ? 2 * pi * (double)i / span : 0;
        v[i] = hann      ? 0.5 - 0.5 * cos(a)
               : hamming ? 25.0 / 46 - (1 - 25.0 / 46) * cos(a)
                         : 0.42 - 0.5 * cos(a) + 0.08 * cos(2 * a);
    }
    return takt_onnx_done(c, takt_onnx_floats(c, dtype, v, &n, 1));
}

static takt_status eye(takt_call *c)
{
    const takt_type t = *takt_onnx_type(c, 0);
    const takt_dtype dtype = takt_onnx_to(c, "dtype", t.dtype);
    const int64_t k = takt_onnx_i(c, "k", 0);
    if (c->status != TAKT_OK)
        return c->status;
    if (t.rank != 2 || !takt_dim_is_number(t.dim[0]) || !takt_dim_is_number(t.dim[1]) ||
        t.dim[0] > 1 << 14 || t.dim[1] > 1 << 14)
        return takt_onnx_refuse(c, "no matrix of known size");
    double *v = takt_onnx_get(c, (size_t)(t.dim[0] * t.dim[1]), sizeof *v);
    if (v == NULL)
        return TAKT_ERR_MEMORY;
    for (int64_t r = 0; r < t.dim[0]; r++)
        if (k > -(1 << 20) && k < 1 << 20 && r + k >= 0 && r + k < t.dim[1])
            v[r * t.dim[1] + r + k] = 1;
    return takt_onnx_done(c, takt_onnx_floats(c, dtype, v, t.dim, 2));
}

static double mel(double f)
{
    return 2595 * log10(1 + f / 700);
}

/* Input `i` as a scalar of f64. */
static takt_id number_of(takt_call *c, size_t i)
{
    return takt_onnx_shape(c, takt_onnx_cast(c, takt_onnx_in(c, i), TAKT_F64), NULL, 0);
}

static takt_id mel_of(takt_call *c, takt_id f)
{
    const takt_id ratio = takt_add_scalar(c->g, takt_mul_scalar(c->g, f, 1.0 / 700), 1);
    return takt_mul_scalar(c->g, takt_unary(c->g, &takt_op_log, ratio), 2595 / log(10));
}

/* The rows at which bins begin and end: `bins` + 2 of them. */
static takt_id edges_of(takt_call *c, takt_id bins, takt_dim count)
{
    takt_graph *g = c->g;
    const takt_id length = number_of(c, 1), rate = number_of(c, 2);
    const takt_id first = mel_of(c, number_of(c, 3)), last = mel_of(c, number_of(c, 4));
    const takt_id step = takt_div(g, takt_sub(g, last, first), takt_add_scalar(g, bins, 2));
    takt_id at = takt_onnx_cast(c, takt_onnx_counted(c, count), TAKT_F64);
    at = takt_add(g, takt_mul(g, at, step), first);
    at = takt_binary(g, &takt_op_pow, takt_onnx_scalar(c, TAKT_F64, 10),
                     takt_mul_scalar(g, at, 1.0 / 2595));
    at = takt_mul_scalar(g, takt_add_scalar(g, at, -1), 700);
    at = takt_div(g, takt_mul(g, takt_add_scalar(g, length, 1), at), rate);
    return takt_unary(g, &takt_op_floor, at);
}

/* The same for sizes that a run finds. */
static takt_status mel_by_values(takt_call *c)
{
    takt_graph *g = c->g;
    const takt_dtype dtype = takt_onnx_to(c, "output_datatype", TAKT_F32);
    const takt_onnx_bound open = takt_onnx_at_most(TAKT_LENGTH_OPEN);
    const takt_id bins = number_of(c, 0), one = takt_onnx_scalar(c, TAKT_F64, 1);
    const takt_id half = takt_unary(g, &takt_op_floor, takt_mul_scalar(g, number_of(c, 1), 0.5));
    const takt_dim n = takt_onnx_length(c, bins, open);
    const takt_dim rows = takt_onnx_length(c, takt_add(g, half, one), open);
    takt_dim count = 0;
    if (c->status != TAKT_OK || takt_dim_make(g->dims, TAKT_DIM_ADD, n, 2, &count) != TAKT_OK)
        return takt_onnx_done(c, TAKT_NONE);
    const takt_id edge = edges_of(c, bins, count);
    const takt_id a = takt_slice(g, edge, 0, 0, -2, 1), b = takt_slice(g, edge, 0, 1, -1, 1);
    const takt_id d = takt_slice(g, edge, 0, 2, INT64_MAX, 1);
    const takt_id x =
        takt_onnx_unsqueeze(c, takt_onnx_cast(c, takt_onnx_counted(c, rows), TAKT_F64), 1);
    const takt_id rises = takt_div(g, takt_sub(g, x, a), takt_sub(g, b, a));
    const takt_id falls = takt_div(g, takt_sub(g, d, x), takt_sub(g, d, b));
    const takt_id is_rise = takt_binary(g, &takt_op_and, takt_binary(g, &takt_op_ge, x, a),
                                        takt_binary(g, &takt_op_le, x, b));
    const takt_id is_fall = takt_binary(g, &takt_op_and, takt_binary(g, &takt_op_ge, x, b),
                                        takt_binary(g, &takt_op_lt, x, d));
    const takt_id is_top = takt_binary(g, &takt_op_and, takt_binary(g, &takt_op_eq, x, b),
                                       takt_binary(g, &takt_op_eq, b, a));
    takt_id y = takt_select(g, is_fall, falls, takt_onnx_scalar(c, TAKT_F64, 0));
    y = takt_select(g, is_top, one, takt_select(g, is_rise, rises, y));
    return takt_onnx_done(c, y == TAKT_NONE ? y : takt_onnx_cast(c, y, dtype));
}

static takt_status mel_matrix(takt_call *c)
{
    bool is_known = true;
    for (size_t i = 0; i < 5; i++)
        is_known = is_known && (!takt_onnx_has(c, i) || takt_onnx_peek(c, i) != NULL);
    if (!is_known && c->in_count >= 5 && takt_onnx_may_find(c))
        return mel_by_values(c);
    const double bins = takt_onnx_known_f(c, 0, 0), length = takt_onnx_known_f(c, 1, 0);
    const double rate = takt_onnx_known_f(c, 2, 0), low = takt_onnx_known_f(c, 3, 0);
    const double high = takt_onnx_known_f(c, 4, 0);
    const takt_dtype dtype = takt_onnx_to(c, "output_datatype", TAKT_F32);
    if (c->status != TAKT_OK)
        return c->status;
    if (!(bins >= 1 && bins < 1 << 14 && length >= 1 && length < 1 << 20 && rate > 0))
        return takt_onnx_refuse(c, "%g bins of %g", bins, length);
    const int64_t n = (int64_t)bins, rows = (int64_t)floor(length / 2) + 1;
    double *v = takt_onnx_get(c, (size_t)(rows * n), sizeof *v);
    double *edge = takt_onnx_get(c, (size_t)n + 2, sizeof *edge);
    if (v == NULL || edge == NULL)
        return TAKT_ERR_MEMORY;
    const double first = mel(low), step = (mel(high) - first) / (bins + 2);
    for (int64_t i = 0; i < n + 2; i++)
        edge[i] =
            floor((length + 1) * (700 * (pow(10, ((double)i * step + first) / 2595) - 1)) / rate);
    for (int64_t i = 0; i < n; i++) {
        const double a = edge[i], b = edge[i + 1], d = edge[i + 2];
        for (int64_t r = 0; r < rows; r++) {
            const double x = (double)r;
            if (x == b && b == a)
                v[r * n + i] = 1;
            else if (x >= a && x <= b)
                v[r * n + i] = (x - a) / (b - a);
            else if (x >= b && x < d)
                v[r * n + i] = (d - x) / (d - b);
        }
    }
    return takt_onnx_done(c, takt_onnx_floats(c, dtype, v, (int64_t[]){rows, n}, 2));
}

static takt_status adapt(takt_call *c)
{
    return takt_span_is(c->node->op, "EyeLike")           ? eye(c)
           : takt_span_is(c->node->op, "MelWeightMatrix") ? mel_matrix(c)
                                                          : window(c);
}

const takt_onnx_op takt_onnx_Tables = {
    .names = {"HannWindow", "HammingWindow", "BlackmanWindow", "EyeLike", "MelWeightMatrix"},
    .adapt = adapt};
