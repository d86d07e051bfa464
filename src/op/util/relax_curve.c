/* relax_curve.c - lines below and above smooth functions of one number.
 *
 * A slope is chosen first; the offset follows from it: the least, or greatest, value of f(x) - k x
 * over the interval, which is at an end or where f' = k. Between two inflection points f' is
 * monotone, so there is one such point. It is known where the line is a tangent, and found by
 * bisection elsewhere. A bad slope makes a line loose, never invalid.
 */
#include <math.h>

#include "op/util/relax.h"

/* Errors of f and of the points: f in f64 is within a few units; where f' = k, f - k x is flat. */
#define SLACK 0x1p-44
#define LEAST 0x1p-100

typedef struct piece {
    const takt_smooth *curve;
    const takt_node *node;
    double l, u, fl, fu;
} piece;

/* A slope, and where f has it; NAN: somewhere. */
typedef struct choice {
    double slope, at;
} choice;

static double f_at(const piece *p, double x)
{
    return x == p->l ? p->fl : x == p->u ? p->fu : p->curve->f(p->node, x);
}

static double slope_at(const piece *p, double x)
{
    return p->curve->slope(p->node, x);
}

/* Where f' = k between a and b, f' rising or falling there. */
static double root(const piece *p, double a, double b, double k, bool rises)
{
    for (int i = 0; i < 100 && b - a > 0x1p-50 * (fabs(a) + fabs(b)); i++) {
        const double m = 0.5 * a + 0.5 * b;
        if ((slope_at(p, m) < k) == rises)
            a = m;
        else
            b = m;
    }
    return 0.5 * a + 0.5 * b;
}

/* Where f' = k between two points; one of them if f' is only more, or only less. */
static double where(const piece *p, double from, double to, choice c, bool rises)
{
    if (c.at >= from && c.at <= to)
        return c.at;
    const double first = slope_at(p, from), last = slope_at(p, to);
    if (rises ? first >= c.slope : first <= c.slope)
        return from;
    if (rises ? last <= c.slope : last >= c.slope)
        return to;
    return root(p, from, to, c.slope, rises);
}

/* The lesser (sign 1), or greater (-1), of `best` and f(x) - k x. The slope is rounded, so the
 * point where f has it may be off by a part of the interval, where f - k x is nearly flat. */
static double look(const piece *p, double x, double k, double sign, double best)
{
    const double f = f_at(p, x), value = f - k * x;
    const double slack = SLACK * (fabs(f) + fabs(k) * (fabs(p->l) + fabs(p->u))) + LEAST;
    return sign * fmin(sign * best, sign * value - slack);
}

/* The least, or greatest, f(x) - k x. Where f bends away from the line it is at an end. */
static double offset(const piece *p, choice c, bool is_above)
{
    const double sign = is_above ? -1 : 1;
    double best = look(p, p->u, c.slope, sign, sign * INFINITY), from = p->l;
    bool rises = p->curve->is_convex_first;
    best = look(p, p->l, c.slope, sign, best);
    for (int i = 0; i <= p->curve->inflection_count; i++, rises = !rises) {
        const double inflection =
            i < p->curve->inflection_count ? p->curve->inflections[i] : INFINITY;
        const double to = fmin(inflection, p->u);
        if (!(to > from))
            continue;
        best = look(p, from, c.slope, sign, best);
        if (rises != is_above)
            best = look(p, where(p, from, to, c, rises), c.slope, sign, best);
        from = to;
    }
    return best;
}

/* Whether f' rises, 1, falls, -1, or does both, 0, over the interval. */
static int bend(const piece *p)
{
    bool rises = p->curve->is_convex_first;
    for (int i = 0; i < p->curve->inflection_count; i++, rises = !rises) {
        if (p->u <= p->curve->inflections[i])
            return rises ? 1 : -1;
        if (p->l < p->curve->inflections[i])
            return 0;
    }
    return rises ? 1 : -1;
}

/* The slope of the tangent at m, less that of the line from there to the end. */
static double excess(const piece *p, double m, double end)
{
    return slope_at(p, m) - (f_at(p, end) - f_at(p, m)) / (end - m);
}

/* Where the line through the point at `end` is tangent to f between `far` and `inflection`, or a
 * little before; `far` if that line is the chord. */
static double touching(const piece *p, double end, double far, double inflection)
{
    double a = far, b = inflection, at_a = excess(p, far, end), at_b = excess(p, inflection, end);
    const double enough = 0x1p-20 * fabs(inflection - far);
    if ((at_b > 0) == (at_a > 0))
        return far;
    const bool is_more = at_a > 0;
    for (int i = 0; i < 60 && fabs(b - a) > enough; i++) {
        /* A secant step that halves the weight of the older end (Illinois), or bisection in every
         * third step. */
        const double by = i % 3 == 2 ? 0.5 : at_a / (at_a - at_b);
        const double m = a + fmin(fmax(by, 0x1p-10), 1 - 0x1p-10) * (b - a);
        const double d = excess(p, m, end);
        if ((d > 0) == is_more) {
            a = m;
            at_a = d;
            at_b *= 0.5;
        } else {
            b = m;
            at_b = d;
            at_a *= 0.5;
        }
    }
    return a;
}

static choice at_point(const piece *p, double x)
{
    return (choice){slope_at(p, x), x};
}

static choice tangent(const piece *p, const double *given, size_t i)
{
    const double t = given != NULL ? fmin(fmax(given[i], 0), 1) : 0.5;
    return at_point(p, p->l + t * (p->u - p->l));
}

/* The slope for one side if there is an inflection point inside. All tangents between the far
 * end and the line through the other end are valid; the one nearest the middle leaves the least
 * area. */
static choice mixed(const piece *p, bool is_above, choice chord, const double *given, size_t i)
{
    double inflection = p->curve->inflections[0];
    bool rises = p->curve->is_convex_first;
    for (int k = 0; k < p->curve->inflection_count; k++) {
        if (p->curve->inflections[k] > p->l && p->curve->inflections[k] < p->u) {
            inflection = p->curve->inflections[k];
            rises = p->curve->is_convex_first == (k % 2 == 0);
            break;
        }
    }
    /* Convex left of the inflection point: a line below is tangent there. */
    const bool is_left = rises != is_above;
    const double far = is_left ? p->l : p->u, end = is_left ? p->u : p->l;
    const double middle = 0.5 * (p->l + p->u);
    const bool is_near = given == NULL && (is_left ? middle < inflection : middle > inflection);
    const bool is_more = excess(p, far, end) > 0;
    /* The middle is among the valid ones, so where they end does not matter. */
    const bool is_middle = is_near && is_more != (excess(p, inflection, end) > 0) &&
                           is_more == (excess(p, middle, end) > 0);
    const double limit = is_middle ? middle : touching(p, end, far, inflection);
    if (limit == far)
        return chord;
    double at = is_left ? fmin(limit, middle) : fmax(limit, middle);
    if (given != NULL)
        at = far + fmin(fmax(given[i], 0), 1) * (limit - far);
    const choice c = at_point(p, at);
    return isfinite(c.slope) ? c : chord;
}

void takt_relax_curve_at(takt_relaxing *r, const takt_smooth *curve, size_t i)
{
    piece p = {curve, r->node, r->lo[0][i], r->hi[0][i], 0, 0};
    if (!(p.l >= curve->least) || p.l == -INFINITY || !(p.u < INFINITY)) {
        takt_relax_constant(r, i, -INFINITY, INFINITY);
        return;
    }
    p.fl = curve->f(r->node, p.l);
    p.fu = p.u > p.l ? curve->f(r->node, p.u) : p.fl;
    const double width = p.u - p.l, middle = 0.5 * (p.l + p.u);
    const choice chord = width > 0x1p-30 * (fabs(p.l) + fabs(p.u))
                             ? (choice){(p.fu - p.fl) / width, NAN}
                             : at_point(&p, middle);
    const int shape = bend(&p);
    choice below = chord, above = chord;
    if (shape > 0)
        below = tangent(&p, r->choice[0], i);
    else if (shape < 0)
        above = tangent(&p, r->choice[1], i);
    else {
        below = mixed(&p, false, chord, r->choice[0], i);
        above = mixed(&p, true, chord, r->choice[1], i);
    }
    if (!isfinite(below.slope) || !isfinite(above.slope))
        below = above = (choice){0, NAN};
    r->below[0][i] = below.slope;
    r->below_at[i] = offset(&p, below, false);
    r->above[0][i] = above.slope;
    r->above_at[i] = offset(&p, above, true);
    if (!isfinite(r->below_at[i]) || !isfinite(r->above_at[i]))
        takt_relax_constant(r, i, -INFINITY, INFINITY);
}

void takt_relax_curve(takt_relaxing *r, const takt_smooth *curve)
{
    for (size_t i = 0; i < r->count; i++)
        takt_relax_curve_at(r, curve, i);
}
