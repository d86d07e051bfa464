/* magnitude.c - bounds of the values of constants, and of expressions of them. */
#include "pass/magnitude.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "op/ops.h"

static const takt_magnitude unknown = {.low = -INFINITY, .most = INFINITY};

/* NaN counts as an infinity. */
static takt_magnitude of_floats(takt_dtype dtype, const void *data, size_t count)
{
    takt_magnitude m = {.low = INFINITY, .least = INFINITY, .is_known = true};
    for (size_t i = 0; i < count; i++) {
        const double x =
            dtype == TAKT_F32 ? (double)((const float *)data)[i] : takt_dtype_get_f(dtype, data, i);
        const double size = x == x ? fabs(x) : INFINITY;
        m.low = x < m.low ? x : m.low;
        m.least = size > 0 && size < m.least ? size : m.least;
        m.most = size > m.most ? size : m.most;
    }
    return m;
}

static double as_float(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return (double)x;
}

/* All weights of a model come here. The bits of floats are ordered by magnitude, with NaN above
 * infinity; as unsigned numbers, negative floats come after the others, and as signed ones before.
 * So four integer extremes suffice, which compilers vectorise. */
static takt_magnitude of_f32(const float *data, size_t count)
{
    uint32_t highest = 0, lowest = UINT32_MAX, least = UINT32_MAX;
    int32_t positive = INT32_MIN;
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, data + i, sizeof bits);
        const uint32_t size = (bits & 0x7fffffff) - 1; /* so that zero is not the least */
        const int32_t order = (int32_t)bits;
        highest = bits > highest ? bits : highest;
        lowest = bits < lowest ? bits : lowest;
        positive = order > positive ? order : positive;
        least = size < least ? size : least;
    }
    const uint32_t sign = 0x80000000, infinity = 0x7f800000;
    const uint32_t below = highest >= sign ? highest - sign : 0; /* of negative values */
    const uint32_t above = positive >= 0 ? (uint32_t)positive : 0;
    if (count == 0 || below > infinity || above > infinity) /* no order of bits helps with NaN */
        return of_floats(TAKT_F32, data, count);
    return (takt_magnitude){.low = as_float(highest >= sign ? highest : lowest),
                            .least = least < sign ? as_float(least + 1) : (double)INFINITY,
                            .most = as_float(below > above ? below : above),
                            .is_known = true};
}

/* For integers the type suffices. */
static takt_magnitude of_integers(takt_dtype dtype)
{
    const double most = ldexp(1, takt_dtype_bits(dtype));
    return (takt_magnitude){.low = -most, .least = 1, .most = most, .is_known = true};
}

static takt_magnitude of_constant(const takt_node *n)
{
    const takt_tensor *t = n->attr[0].tensor;
    if (!takt_dtype_is_float(n->type->dtype))
        return of_integers(n->type->dtype);
    if (t->storage == NULL)
        return unknown;
    return n->type->dtype == TAKT_F32
               ? of_f32(takt_tensor_data(t), takt_tensor_count(t))
               : of_floats(n->type->dtype, takt_tensor_data(t), takt_tensor_count(t));
}

static takt_magnitude negated(takt_magnitude m)
{
    m.low = -m.most;
    return m;
}

/* Including the zeros of the padding. */
static takt_magnitude with_zero(const takt_node *n, takt_magnitude m)
{
    const takt_attr *mode = takt_node_attr(n, "mode"), *value = takt_node_attr(n, "value");
    if (n->in_count > 1 || (mode != NULL && mode->is_set && mode->i64 != 0) ||
        (value != NULL && value->is_set && value->f64 != 0))
        return unknown;
    m.low = m.low < 0 ? m.low : 0;
    return m;
}

/* Cancellation may yield arbitrarily small values. */
static takt_magnitude sum(takt_magnitude a, takt_magnitude b)
{
    return (takt_magnitude){.low = a.low + b.low,
                            .least = 0,
                            .most = a.most + b.most,
                            .is_known = a.is_known && b.is_known};
}

static takt_magnitude of_node(const takt_graph *g, takt_id id, int depth)
{
    enum { DEPTH = 8 };
    const takt_node *n = &g->nodes[id];
    if (n->op == &takt_op_constant)
        return of_constant(n);
    if (depth == DEPTH || n->in_count == 0)
        return unknown;
    const takt_magnitude m = of_node(g, n->in[0], depth + 1);
    const bool widens =
        n->op == &takt_op_cast && takt_dtype_is_float(n->type->dtype) &&
        takt_dtype_bits(n->type->dtype) >= takt_dtype_bits(takt_type_of(g, n->in[0])->dtype);
    if ((n->op->traits & TAKT_VIEW) != 0 || widens)
        return m;
    if (n->op == &takt_op_pad)
        return with_zero(n, m);
    if (n->op == &takt_op_neg)
        return negated(m);
    if (n->op == &takt_op_mul)
        return takt_magnitude_mul(m, of_node(g, n->in[1], depth + 1));
    if (n->op == &takt_op_add)
        return sum(m, of_node(g, n->in[1], depth + 1));
    if (n->op == &takt_op_dequantize) /* levels are a whole number apart from zero */
        return takt_magnitude_mul(of_integers(takt_type_of(g, n->in[0])->dtype),
                                  of_node(g, n->in[1], depth + 1));
    return unknown;
}

takt_magnitude takt_magnitude_of(const takt_graph *g, takt_id id)
{
    return of_node(g, id, 0);
}

takt_magnitude takt_magnitude_mul(takt_magnitude a, takt_magnitude b)
{
    const double most = a.most == 0 || b.most == 0 ? 0 : a.most * b.most;
    return (takt_magnitude){.low = a.low >= 0 && b.low >= 0 ? 0 : -most,
                            .least = a.least * b.least,
                            .most = most,
                            .is_known = a.is_known && b.is_known};
}

takt_magnitude takt_magnitude_over_root(takt_magnitude a, takt_magnitude b, double epsilon)
{
    if (!a.is_known || !b.is_known || !(b.low >= 0 && b.low + epsilon > 0))
        return unknown;
    return (takt_magnitude){.low = -INFINITY,
                            .least = a.least / sqrt(b.most + epsilon),
                            .most = a.most / sqrt(b.low + epsilon),
                            .is_known = true};
}

bool takt_magnitude_fits(takt_magnitude m, double peak, takt_dtype dtype)
{
    const double most = dtype == TAKT_F32 ? (double)FLT_MAX : DBL_MAX;
    const double small = dtype == TAKT_F32 ? 0x1p-102 : 0x1p-969; /* the least normal / epsilon */
    return m.is_known && m.most <= most && (m.most == 0 || peak >= small);
}
