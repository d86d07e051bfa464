/* relax_curve.c - lines below and above smooth functions of one number.
 *
 * A slope is chosen first; the offset follows from it: the least, or greatest, value of f(x) - k x
 * over the interval, which is at an end or where f' = k. Between two inflection points f' is
 * monotone, so each such point is found by bisection. A bad slope makes a line loose, never
 * invalid.
 */
#include <math.h>

#include "op/util/relax.h"

/* Errors of f and of the points: f in f64 is within a few units; where f' = k, f - k x is flat. */
#define SLACK 0x1p-44
#define LEAST 0x1p-100

typedef struct piece {
    const takt_smooth *curve;
    const takt_node *node;
    double l, u;
} piece;

static double f_at(const piece *p, double x)
{
    return p->curve->f(p->node, x);
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

static void look(const piece *p, double x, double k, double *least, double *most)
{
    const double f = f_at(p, x), value = f - k * x;
    const double slack = SLACK * (fabs(f) + fabs(k * x)) + LEAST;
    *least = fmin(*least, value - slack);
    *most = fmax(*most, value + slack);
}

/* The least and greatest f(x) - k x. */
static void offsets(const piece *p, double k, double *least, double *most)
{
    *least = INFINITY;
    *most = -INFINITY;
    look(p, p->l, k, least, most);
    look(p, p->u, k, least, most);
    bool rises = p->curve->is_convex_first;
    double from = p->l;
    for (int i = 0; i <= p->curve->turn_count; i++, rises = !rises) {
        const double turn = i < p->curve->turn_count ? p->curve->turns[i] : INFINITY;
        const double to = fmin(turn, p->u);
        if (to > from) {
            look(p, from, k, least, most);
            look(p, root(p, from, to, k, rises), k, least, most);
            from = to;
        }
    }
}

/* Whether f' rises, 1, falls, -1, or does both, 0, over the interval. */
static int bend(const piece *p)
{
    bool rises = p->curve->is_convex_first;
    for (int i = 0; i < p->curve->turn_count; i++, rises = !rises) {
        if (p->u <= p->curve->turns[i])
            return rises ? 1 : -1;
        if (p->l < p->curve->turns[i])
            return 0;
    }
    return rises ? 1 : -1;
}

/* Where the line through the point at `end` is tangent to f between `far` and `turn`; `far` if that
 * line is the chord. */
static double touching(const piece *p, double end, double far, double turn)
{
    double a = far, b = turn;
    const double f = f_at(p, end);
    /* tangent(m) - chord(m) changes its sign between far and turn, or the chord is the line. */
    const double at_far = slope_at(p, far) - (f - f_at(p, far)) / (end - far);
    const double at_turn = slope_at(p, turn) - (f - f_at(p, turn)) / (end - turn);
    if ((at_turn > 0) == (at_far > 0))
        return far;
    for (int i = 0; i < 60; i++) {
        const double m = 0.5 * (a + b);
        const double d = slope_at(p, m) - (f - f_at(p, m)) / (end - m);
        if ((d > 0) == (at_far > 0))
            a = m;
        else
            b = m;
    }
    return 0.5 * (a + b);
}

static double tangent(const piece *p, const double *choice, size_t i)
{
    const double t = choice != NULL ? fmin(fmax(choice[i], 0), 1) : 0.5;
    return slope_at(p, p->l + t * (p->u - p->l));
}

/* The slope for one side if there is an inflection point inside. All tangents between the far
 * end and the line through the other end are valid; the one nearest the middle leaves the least
 * area. */
static double mixed(const piece *p, bool is_above, double chord, const double *choice, size_t i)
{
    double turn = p->curve->turns[0];
    bool rises = p->curve->is_convex_first;
    for (int k = 0; k < p->curve->turn_count; k++) {
        if (p->curve->turns[k] > p->l && p->curve->turns[k] < p->u) {
            turn = p->curve->turns[k];
            rises = p->curve->is_convex_first == (k % 2 == 0);
            break;
        }
    }
    /* Convex left of the inflection point: a line below is tangent there. */
    const bool is_left = rises != is_above;
    const double far = is_left ? p->l : p->u, middle = 0.5 * (p->l + p->u);
    const double limit = touching(p, is_left ? p->u : p->l, far, turn);
    if (limit == far)
        return chord;
    double at = is_left ? fmin(limit, middle) : fmax(limit, middle);
    if (choice != NULL)
        at = far + fmin(fmax(choice[i], 0), 1) * (limit - far);
    const double slope = slope_at(p, at);
    return isfinite(slope) ? slope : chord;
}

void takt_relax_curve_at(takt_relaxing *r, const takt_smooth *curve, size_t i)
{
    const piece p = {curve, r->node, r->lo[0][i], r->hi[0][i]};
    if (!(p.l >= curve->least) || p.l == -INFINITY || !(p.u < INFINITY)) {
        takt_relax_constant(r, i, -INFINITY, INFINITY);
        return;
    }
    const double width = p.u - p.l;
    const double chord = width > 0x1p-30 * (fabs(p.l) + fabs(p.u))
                             ? (f_at(&p, p.u) - f_at(&p, p.l)) / width
                             : slope_at(&p, 0.5 * (p.l + p.u));
    const int shape = bend(&p);
    double below = chord, above = chord, least, most, unused;
    if (shape > 0)
        below = tangent(&p, r->choice[0], i);
    else if (shape < 0)
        above = tangent(&p, r->choice[1], i);
    else {
        below = mixed(&p, false, chord, r->choice[0], i);
        above = mixed(&p, true, chord, r->choice[1], i);
    }
    if (!isfinite(below) || !isfinite(above))
        below = above = 0;
    offsets(&p, below, &least, &unused);
    r->below[0][i] = below;
    r->below_at[i] = least;
    offsets(&p, above, &unused, &most);
    r->above[0][i] = above;
    r->above_at[i] = most;
    if (!isfinite(least) || !isfinite(most))
        takt_relax_constant(r, i, -INFINITY, INFINITY);
}

void takt_relax_curve(takt_relaxing *r, const takt_smooth *curve)
{
    for (size_t i = 0; i < r->count; i++)
        takt_relax_curve_at(r, curve, i);
}
