/* bound.h - how far a correct step may be from the interpreter, computed from what it adds up. */
#ifndef TAKT_TESTS_BACKEND_BOUND_H
#define TAKT_TESTS_BACKEND_BOUND_H

#include <float.h>
#include <math.h>
#include <string.h>

#include "op/ops.h"

/* Half a unit in the last place of 1, in the type. */
static double agree_unit(takt_dtype dtype)
{
    switch (dtype) {
    case TAKT_F64: return DBL_EPSILON / 2;
    case TAKT_F32: return FLT_EPSILON / 2;
    case TAKT_F16: return 0x1p-11;
    case TAKT_BF16: return 0x1p-8;
    default: return 0x1p-2; /* f8: at least two bits */
    }
}

/* Sums and products over many elements, whose error is measured by the sum of magnitudes. */
static bool agree_is_sum(const takt_node *n)
{
    static const char *const names[] = {"matmul",           "conv",
                                        "conv_dx",          "conv_dw",
                                        "reduce_sum",       "reduce_sum_square",
                                        "reduce_prod",      "cumsum",
                                        "avg_pool",         "avg_pool_dx",
                                        "max_pool_dx",      "index_add",
                                        "scatter_elements", "scatter_nd",
                                        "winograd_conv",    "winograd_conv_dx",
                                        "winograd_conv_dw"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(n->op->name, names[i]) == 0)
            return true;
    return false;
}

static bool agree_is_winograd(const takt_node *n)
{
    return strncmp(n->op->name, "winograd_conv", sizeof "winograd_conv" - 1) == 0;
}

/* Winograd's transforms mix the elements of a tile: the largest decides about the error of all. */
static void agree_spread(const takt_node *n, takt_array *magnitude)
{
    double most = 0;
    if (!agree_is_winograd(n) || magnitude->f == NULL)
        return;
    for (size_t i = 0; i < magnitude->count; i++)
        most = magnitude->f[i] > most || isnan(magnitude->f[i]) ? magnitude->f[i] : most;
    for (size_t i = 0; i < magnitude->count; i++) /* infinite: sums on the way may overflow */
        magnitude->f[i] = most <= FLT_MAX / 1024 ? most : INFINITY;
}

static double agree_largest(const takt_array *a, double most)
{
    for (size_t i = 0; a->f != NULL && i < a->count; i++)
        most = fabs(a->f[i]) > most ? fabs(a->f[i]) : most;
    return most;
}

/* There is a product inside: a body's result may be small because of cancellation or an activation,
 * and does not show the magnitude of its operands. The largest value of all does. */
static bool agree_is_recurrent(const takt_node *n)
{
    const int body = n->op == &takt_op_scan ? takt_op_attr_index(n->op, "body") : -1;
    const takt_graph *g = body >= 0 ? n->attr[body].graph : NULL;
    for (size_t i = 0; g != NULL && i < g->count; i++)
        if (g->nodes[i].op == &takt_op_matmul)
            return true;
    return false;
}

/* Roundings that a step makes in its compute type: gamma_k of the usual analysis. */
static double agree_rounding(const takt_node *n, const takt_array *in)
{
    if ((n->op->traits & TAKT_ELEMENTWISE) != 0)
        return n->type->dtype == TAKT_F64
                   ? 8
                   : 6; /* elementary functions: 2 ULP, libm's own, and pow */
    if (n->op == &takt_op_rand)
        return 8;
    if ((n->op->traits & TAKT_CONTROL) != 0 || (n->op->traits & TAKT_PRIMITIVE) == 0)
        return 256; /* a whole graph inside */
    if (!agree_is_sum(n))
        return 0;
    size_t most = 1;
    for (uint32_t k = 0; k < n->in_count; k++)
        most = in[k].rank >= 0 && in[k].count > most ? in[k].count : most;
    /* The transforms of F(4x4, 3x3) enlarge rounding errors. */
    return (agree_is_winograd(n) ? 64 : 1) * ((double)most + 2);
}

/* `allowed` roundings of the compute type, and one of the result's own. `magnitude`: reference of
 * the relative error; NULL: the result itself. */
static bool agree_within(const takt_array *got, const takt_array *want, const takt_array *magnitude,
                         double allowed, size_t *at)
{
    const takt_dtype dtype = want->dtype;
    const bool is_narrow = dtype != TAKT_F64 && dtype != TAKT_F32;
    const double compute = agree_unit(dtype == TAKT_F64 ? TAKT_F64 : TAKT_F32);
    for (*at = 0; *at < want->count; ++*at) {
        if (want->f == NULL) {
            if (got->i[*at] != want->i[*at])
                return false;
            continue;
        }
        const double g = got->f[*at], w = want->f[*at];
        if (g == w || (isnan(g) && isnan(w)))
            continue;
        const double size = magnitude != NULL ? fabs(magnitude->f[*at]) : fabs(w);
        double bound = allowed * compute * size + allowed * 0x1p-149;
        if (dtype == TAKT_F64)
            bound = allowed * compute * size + allowed * 0x1p-1074;
        if (is_narrow && allowed > 0)
            bound += 2 * agree_unit(dtype) * (fabs(w) + bound) +
                     (dtype == TAKT_BF16 ? 0x1p-133 : 0x1p-24);
        if (isinf(size) && (isinf(g) != isinf(w) || isnan(g)))
            continue; /* on the edge of overflow either is right */
        if (!(fabs(g - w) <= bound))
            return false;
    }
    *at = 0;
    return true;
}

static bool agree_is_same(const takt_array *p, const takt_array *q, size_t *at)
{
    if (p->dtype != q->dtype || p->count != q->count)
        return false;
    for (*at = 0; *at < p->count; ++*at) {
        if (p->f == NULL ? p->i[*at] != q->i[*at]
                         : memcmp(&p->f[*at], &q->f[*at], sizeof *p->f) != 0 &&
                               !(isnan(p->f[*at]) && isnan(q->f[*at])))
            return false;
    }
    *at = 0;
    return true;
}

#endif
