/* recheck_bound.c - the checker's own bounds: intervals, lines, and back-substitution of sums. */
#include <math.h>
#include <string.h>

#include "op/ops.h"
#include "verify/recheck.h"

#define MORE (1 + 0x1p-16) /* covers the rounding of sums of errors */

/* ---- lines ---- */

typedef struct line {
    double slope, at;
} line;

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double rise(double x)
{
    return sigmoid(x) * sigmoid(-x);
}

/* The minimum of f(x) - k x over its candidates: ends, 0, and where f' = k. */
static line lowest(double k, const double *places, size_t count)
{
    double least = INFINITY;
    for (size_t i = 0; i < count; i++) {
        const double f = sigmoid(places[i]), off = f - k * places[i];
        least = fmin(least, off - 0x1p-44 * (f + fabs(k * places[i])) - 0x1p-100);
    }
    return (line){k, least};
}

/* Below a sigmoid, which is convex below 0 and concave above. */
static line below_sigmoid(double l, double u)
{
    const double middle = 0.5 * (l + u), width = u - l;
    const double chord =
        width > 0x1p-30 * (fabs(l) + fabs(u)) ? (sigmoid(u) - sigmoid(l)) / width : rise(middle);
    if (l >= 0)
        return lowest(chord, (double[]){l, u}, 2);
    if (u <= 0)
        return lowest(rise(middle), (double[]){middle, l, u}, 3);
    if (rise(l) >= chord)
        return lowest(chord, (double[]){l, 0, u}, 3);
    double a = l, b = 0; /* the tangent that passes through the upper end */
    for (int i = 0; i < 60; i++) {
        const double m = 0.5 * (a + b);
        if (rise(m) < (sigmoid(u) - sigmoid(m)) / (u - m))
            a = m;
        else
            b = m;
    }
    const double t = fmin(0.5 * (a + b), middle);
    return lowest(rise(t), (double[]){t, l, 0, u}, 4);
}

static void sigmoid_lines(takt_check_node *c, size_t i, double l, double u)
{
    const line low = below_sigmoid(l, u), mirror = below_sigmoid(-u, -l); /* 1 - f(-x) = f(x) */
    c->low_slope[i] = low.slope;
    c->low_at[i] = low.at;
    c->high_slope[i] = mirror.slope;
    c->high_at[i] = 1 - mirror.at + 0x1p-50;
}

static void relu_lines(takt_check_node *c, size_t i, double l, double u)
{
    c->low_at[i] = c->high_at[i] = 0;
    if (l >= 0 || u <= 0) {
        c->low_slope[i] = c->high_slope[i] = l >= 0 ? 1 : 0;
        return;
    }
    const double k = u / (u - l);
    c->low_slope[i] = u > -l ? 1 : 0;
    c->high_slope[i] = k;
    /* Through (l, 0) and (u, u); both must be below it. */
    c->high_at[i] = fmax(-k * l, u - k * u) + 0x1p-48 * (u - l);
}

void takt_recheck_lines(takt_recheck *k, takt_check_node *c, size_t i)
{
    const double l = k->nodes[c->source].lo[i], u = k->nodes[c->source].hi[i];
    if (!isfinite(l) || !isfinite(u)) {
        c->lo[i] = c->low_at[i] = -INFINITY;
        c->hi[i] = c->high_at[i] = INFINITY;
        c->low_slope[i] = c->high_slope[i] = 0;
        c->error[i] = INFINITY;
        return;
    }
    const bool is_relu = c->kind == TAKT_CHECK_RELU;
    if (is_relu)
        relu_lines(c, i, l, u);
    else
        sigmoid_lines(c, i, l, u);
    const double far = fmax(fabs(l), fabs(u)), top = is_relu ? fmax(u, 0) : 1;
    c->error[i] = c->share * top * MORE + c->tiny +
                  k->slack * (far * fmax(fmax(c->high_slope[i], c->low_slope[i]), is_relu) +
                              fabs(c->low_at[i]) + fabs(c->high_at[i]) + top);
    c->lo[i] = is_relu ? fmax(l, 0) : sigmoid(l) * (1 - 0x1p-48) - c->error[i];
    c->hi[i] = is_relu ? fmax(u, 0) : sigmoid(u) * (1 + 0x1p-48) + c->error[i];
}

static void function_bounds(takt_recheck *k, takt_check_node *c)
{
    for (size_t i = 0; i < c->count; i++)
        takt_recheck_lines(k, c, i);
}

/* ---- sums ---- */

static void linear_bounds(takt_recheck *k, uint32_t id)
{
    takt_check_node *c = &k->nodes[id];
    const double max =
        k->is_real || k->graph->nodes[id].type[0].dtype == TAKT_F64 ? INFINITY : 0x1.fffffep127;
    for (size_t j = 0; j < c->count; j++) {
        double bias, lo, hi, size;
        const size_t runs = takt_recheck_runs(k, id, j, &bias);
        lo = hi = bias;
        size = fabs(bias);
        for (size_t r = 0; r < runs; r++) {
            const takt_run *run = &k->found[r];
            const takt_check_node *x = &k->nodes[run->node];
            for (size_t i = 0; i < run->count; i++) {
                const double w = run->w != NULL ? run->w[i * run->stride] : run->factor;
                const size_t at = run->first + i * run->step;
                if (w == 0)
                    continue;
                lo += w * (w > 0 ? x->lo[at] : x->hi[at]);
                hi += w * (w > 0 ? x->hi[at] : x->lo[at]);
                size += fabs(w) * fmax(fabs(x->lo[at]), fabs(x->hi[at]));
            }
        }
        const double far = fmax(fabs(lo), fabs(hi));
        c->error[j] = (c->gamma * size + c->share * far * (1 + c->share)) * MORE + c->tiny +
                      k->slack * (size + far);
        c->lo[j] = lo - c->error[j];
        c->hi[j] = hi + c->error[j];
        /* A part of the sum may overflow although the sum itself does not. */
        if (!(size + c->error[j] <= max)) {
            c->lo[j] = -INFINITY;
            c->hi[j] = c->error[j] = INFINITY;
        }
    }
}

/* ---- maxima ---- */

/* Lower bound: the element with the largest lower bound; also the upper bound if no other element
 * reaches it. Otherwise the upper bound is the largest value of all. */
static void max_bounds(takt_recheck *k, uint32_t id)
{
    takt_check_node *c = &k->nodes[id];
    const takt_check_node *x = &k->nodes[c->source];
    for (size_t j = 0; j < c->count; j++) {
        double bias, most = -INFINITY, other = -INFINITY;
        const size_t runs = takt_recheck_runs(k, id, j, &bias);
        size_t from = runs > 0 ? k->found[0].first : 0;
        bool is_known = runs > 0;
        for (size_t r = 0; r < runs; r++) {
            const size_t at = k->found[r].first;
            is_known = is_known && isfinite(x->lo[at]) && isfinite(x->hi[at]);
            most = fmax(most, x->hi[at]);
            from = x->lo[at] > x->lo[from] ? at : from;
        }
        for (size_t r = 0; r < runs; r++)
            other = k->found[r].first == from ? other : fmax(other, x->hi[k->found[r].first]);
        const bool is_one = is_known && other <= x->lo[from];
        c->from[j] = from;
        c->low_slope[j] = is_known ? 1 : 0;
        c->low_at[j] = is_known ? 0 : -INFINITY;
        c->high_slope[j] = is_one ? 1 : 0;
        c->high_at[j] = is_one ? 0 : is_known ? most : INFINITY;
        c->lo[j] = is_known ? x->lo[from] : -INFINITY;
        c->hi[j] = is_known ? most : INFINITY;
        c->error[j] = is_known ? k->slack * (fabs(c->lo[j]) + fabs(most)) : INFINITY;
    }
}

/* ---- back ---- */

/* Rows of weights that are added to the same coefficients, four at once: the coefficients are
 * loaded and stored a quarter as often. */
enum { TOGETHER = 4 };

typedef struct pending {
    double *to;
    size_t width, count;
    const double *w[TOGETHER];
    double a[TOGETHER];
} pending;

static void add_all(pending *p)
{
    double *restrict to = p->to;
    const double *restrict w0 = p->w[0], *restrict w1 = p->w[1], *restrict w2 = p->w[2],
                           *restrict w3 = p->w[3];
    const double a0 = p->a[0], a1 = p->a[1], a2 = p->a[2], a3 = p->a[3];
    if (p->count == TOGETHER)
        for (size_t i = 0; i < p->width; i++)
            to[i] = (((to[i] + a0 * w0[i]) + a1 * w1[i]) + a2 * w2[i]) + a3 * w3[i];
    else
        for (size_t r = 0; r < p->count; r++)
            for (size_t i = 0; i < p->width; i++)
                to[i] += p->a[r] * p->w[r][i];
    p->count = 0;
}

static void add_scaled(pending *p, double *to, const double *w, double a, size_t width)
{
    if (p->count > 0 && (p->to != to || p->width != width))
        add_all(p);
    p->to = to;
    p->width = width;
    p->w[p->count] = w;
    p->a[p->count++] = a;
    if (p->count == TOGETHER)
        add_all(p);
}

/* A bias, or a scale. */
static double through_straight(takt_recheck *k, takt_check_node *c)
{
    const double *restrict error = c->error, *restrict bias = c->kept_bias;
    const takt_run *restrict runs = c->kept;
    double *restrict row = c->row, *restrict to = k->nodes[c->source].row;
    double sum = 0, lost = 0;
    for (size_t j = 0; j < c->count; j++) {
        const double a = row[j];
        row[j] = 0;
        if (a == 0)
            continue;
        lost += fabs(a) * error[j];
        sum += a * bias[j];
        to[j] += a * runs[TAKT_CHECK_KEPT * j].factor;
    }
    return sum - lost * MORE;
}

/* Which line applies is unpredictable, so it is selected by an index instead of a branch. */
static double through_function(takt_recheck *k, takt_check_node *c)
{
    const double *const at[] = {c->high_at, c->low_at}, *const slope[] = {c->high_slope,
                                                                          c->low_slope};
    const double *restrict error = c->error;
    const size_t *from = c->kind == TAKT_CHECK_MAX ? c->from : NULL;
    double *restrict row = c->row, *restrict to = k->nodes[c->source].row;
    double sum = 0, lost = 0;
    for (size_t j = 0; j < c->count; j++) {
        const double a = row[j];
        row[j] = 0;
        if (a == 0)
            continue;
        const int is_low = a > 0;
        lost += fabs(a) * error[j];
        sum += a * at[is_low][j];
        to[from != NULL ? from[j] : j] += a * slope[is_low][j];
    }
    return sum - lost * MORE;
}

static double through_sum(takt_recheck *k, uint32_t id)
{
    takt_check_node *c = &k->nodes[id];
    double sum = 0, lost = 0;
    pending p = {.count = 0};
    for (size_t j = 0; j < c->count; j++) {
        const double a = c->row[j];
        double bias;
        c->row[j] = 0;
        if (a == 0)
            continue;
        lost += fabs(a) * c->error[j];
        const size_t runs = takt_recheck_runs(k, id, j, &bias);
        sum += a * bias;
        for (size_t r = 0; r < runs; r++) {
            const takt_run *run = &k->found[r];
            double *to = k->nodes[run->node].row + run->first;
            if (run->w != NULL && run->step == 1 && run->stride == 1)
                add_scaled(&p, to, run->w, a, run->count);
            else
                for (size_t i = 0; i < run->count; i++)
                    to[i * run->step] +=
                        a * (run->w != NULL ? run->w[i * run->stride] : run->factor);
        }
    }
    add_all(&p);
    return sum - lost * MORE;
}

static double through(takt_recheck *k, uint32_t id)
{
    takt_check_node *c = &k->nodes[id];
    if (c->kind != TAKT_CHECK_LINEAR)
        return through_function(k, c);
    return c->is_straight ? through_straight(k, c) : through_sum(k, id);
}

double takt_recheck_least(takt_recheck *k, uint32_t id, double constant)
{
    double size = 0;
    for (uint32_t i = id + 1; i-- > 0;) {
        takt_check_node *c = &k->nodes[i];
        if (c->kind >= TAKT_CHECK_LINEAR)
            constant += through(k, i);
        for (size_t j = 0; c->kind == TAKT_CHECK_INPUT && j < c->count; j++) {
            const double a = c->row[j];
            c->row[j] = 0;
            constant += a == 0 ? 0 : a * (a > 0 ? c->lo[j] : c->hi[j]);
            size += a == 0 ? 0 : fabs(a) * fmax(fabs(c->lo[j]), fabs(c->hi[j]));
        }
    }
    return constant - k->slack * size * MORE;
}

/* Both bounds of the elements over which a function bends. */
static void refine(takt_recheck *k, uint32_t id, bool is_relu)
{
    takt_check_node *c = &k->nodes[id];
    for (size_t j = 0; j < c->count; j++) {
        if (is_relu && (c->lo[j] >= 0 || c->hi[j] <= 0))
            continue;
        c->row[j] = 1;
        const double lo = takt_recheck_least(k, id, 0);
        c->row[j] = -1;
        const double hi = -takt_recheck_least(k, id, 0);
        c->lo[j] = lo > c->lo[j] ? lo : c->lo[j];
        c->hi[j] = hi < c->hi[j] ? hi : c->hi[j];
    }
}

/* Whether all functions that read the node are relus. */
static bool feeds_relus(const takt_recheck *k, uint32_t id)
{
    for (size_t i = id + 1; i < k->graph->count; i++)
        if ((k->nodes[i].kind == TAKT_CHECK_SIGMOID || k->nodes[i].kind == TAKT_CHECK_MAX) &&
            k->nodes[i].source == id)
            return false;
    return true;
}

void takt_recheck_bound(takt_recheck *k)
{
    size_t at = 0;
    for (size_t i = 0; i < k->graph->input_count; i++) {
        takt_check_node *c = &k->nodes[k->graph->inputs[i].id];
        memcpy(c->lo, k->lo + at, c->count * sizeof *c->lo);
        memcpy(c->hi, k->hi + at, c->count * sizeof *c->hi);
        at += c->count;
    }
    for (uint32_t i = 0; i < k->graph->count; i++) {
        takt_check_node *c = &k->nodes[i];
        if (c->kind == TAKT_CHECK_LINEAR)
            linear_bounds(k, i);
        else if (c->kind == TAKT_CHECK_MAX)
            max_bounds(k, i);
        else if (c->kind > TAKT_CHECK_LINEAR)
            function_bounds(k, c);
        if (c->kind == TAKT_CHECK_LINEAR && c->is_read)
            refine(k, i, feeds_relus(k, i));
    }
    k->is_fresh = true;
    k->boxes++;
}
