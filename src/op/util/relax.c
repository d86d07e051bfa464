/* relax.c - lines below and above functions: hinges, clips, products and maxima. */
#include "op/util/relax.h"

#include <float.h>
#include <math.h>

/* The rounding error of a line, relative to the magnitudes in it. */
#define SLACK 0x1p-48

static double down(double value, double size)
{
    return value - SLACK * size - DBL_MIN;
}

static double up(double value, double size)
{
    return value + SLACK * size + DBL_MIN;
}

static void set(takt_relaxing *r, size_t i, bool is_above, double slope, double offset)
{
    (is_above ? r->above : r->below)[0][i] = slope;
    (is_above ? r->above_at : r->below_at)[i] = offset;
}

void takt_relax_constant(takt_relaxing *r, size_t i, double lo, double hi)
{
    for (int k = 0; k < 2 && r->below[k] != NULL; k++)
        r->below[k][i] = r->above[k][i] = 0;
    r->below_at[i] = lo;
    r->above_at[i] = hi;
}

/* ---- hinges ---- */

typedef struct hinge {
    double at, value, left, right;
} hinge;

static double hinge_at(const hinge *h, double x)
{
    return h->value + (x - h->at) * (x < h->at ? h->left : h->right);
}

/* The chord: convex functions are below it, so the larger offset of the two ends is a bound. */
static void chord(takt_relaxing *r, const hinge *h, size_t i, bool is_above)
{
    const double l = r->lo[0][i], u = r->hi[0][i];
    const double fl = hinge_at(h, l), fu = hinge_at(h, u);
    const double k = u > l ? (fu - fl) / (u - l) : h->right;
    const double size = fabs(fl) + fabs(fu) + fabs(k) * (fabs(l) + fabs(u));
    const double a = fl - k * l, b = fu - k * u;
    set(r, i, is_above, k, is_above ? up(fmax(a, b), size) : down(fmin(a, b), size));
}

/* A line through the hinge, with a slope between the two. */
static void touching(takt_relaxing *r, const hinge *h, size_t i, bool is_above)
{
    const double l = r->lo[0][i], u = r->hi[0][i];
    const double *choice = r->choice[is_above];
    const double first = h->left, second = h->right;
    /* Usually the side that is longer. */
    double k = u - h->at > h->at - l ? second : first;
    if (choice != NULL)
        k = first + fmin(fmax(choice[i], 0), 1) * (second - first);
    const double offset = h->value - k * h->at;
    const double size = h->at != 0 || k * (first - second) * (second - k) != 0
                            ? fabs(h->value) + fabs(k * h->at)
                            : fabs(h->value);
    set(r, i, is_above, k, size == 0 ? 0 : is_above ? up(offset, size) : down(offset, size));
}

static void one_line(takt_relaxing *r, const hinge *h, size_t i, double slope)
{
    const double offset = h->value - slope * h->at, size = fabs(h->value) + fabs(slope * h->at);
    set(r, i, false, slope, size == 0 ? 0 : down(offset, size));
    set(r, i, true, slope, size == 0 ? 0 : up(offset, size));
}

void takt_relax_hinge(takt_relaxing *r, double at, double value, double left, double right)
{
    const hinge h = {at, value, left, right};
    const bool is_convex = right >= left;
    for (size_t i = 0; i < r->count; i++) {
        if (r->lo[0][i] >= at) {
            one_line(r, &h, i, right);
        } else if (r->hi[0][i] <= at) {
            one_line(r, &h, i, left);
        } else {
            chord(r, &h, i, is_convex);
            touching(r, &h, i, !is_convex);
        }
    }
}

/* ---- clip ---- */

/* Below: from the point (greatest, greatest) down, or flat at `least`. Above: its mirror image. */
static void clip_one(takt_relaxing *r, size_t i, double least, double greatest)
{
    const double l = r->lo[0][i], u = r->hi[0][i];
    const double fl = fmin(fmax(l, least), greatest), fu = fmin(fmax(u, least), greatest);
    if (fl == fu) {
        takt_relax_constant(r, i, fl, fl);
        return;
    }
    if (l >= least && u <= greatest) {
        set(r, i, false, 1, 0);
        set(r, i, true, 1, 0);
        return;
    }
    /* Through (u, fu) and no steeper than 1: below the hinge at `least`, above by the chord. */
    const double top = fmin(u, greatest), bottom = fmax(l, least);
    const double k_above = (top - fl) / (top - l), k_below = (fu - bottom) / (u - bottom);
    const double size = fabs(l) + fabs(u) + fabs(fl) + fabs(fu);
    const double flat_above = u - greatest > top - l ? 0 : k_above;
    const double flat_below = least - l > u - bottom ? 0 : k_below;
    const double a =
        r->choice[1] != NULL ? k_above * fmin(fmax(r->choice[1][i], 0), 1) : flat_above;
    const double b =
        r->choice[0] != NULL ? k_below * fmin(fmax(r->choice[0][i], 0), 1) : flat_below;
    /* Each line must hold at both ends and at both corners of the graph. */
    double most = fmax(fl - a * l, fu - a * u), least_off = fmin(fl - b * l, fu - b * u);
    if (greatest > l && greatest < u) {
        most = fmax(most, greatest - a * greatest);
        least_off = fmin(least_off, greatest - b * greatest);
    }
    if (least > l && least < u) {
        most = fmax(most, least - a * least);
        least_off = fmin(least_off, least - b * least);
    }
    set(r, i, true, a, up(most, size));
    set(r, i, false, b, down(least_off, size));
}

void takt_relax_clip(takt_relaxing *r, double least, double greatest)
{
    for (size_t i = 0; i < r->count; i++)
        clip_one(r, i, least, greatest);
}

/* ---- two inputs ---- */

typedef struct pair {
    double l[2], u[2];
} pair;

static pair pair_of(const takt_relaxing *r, size_t i)
{
    return (pair){{r->lo[0][i], r->lo[1][i]}, {r->hi[0][i], r->hi[1][i]}};
}

/* (x - a)(y - b) has one sign if a and b are ends: x y >= b x + a y - a b for ends of the same
 * kind, <= for different ones. */
static void plane(takt_relaxing *r, size_t i, bool is_above, double a, double b)
{
    double *const *slopes = is_above ? r->above : r->below;
    const pair p = pair_of(r, i);
    const double size = fabs(a * b) + fabs(b) * fmax(fabs(p.l[0]), fabs(p.u[0])) +
                        fabs(a) * fmax(fabs(p.l[1]), fabs(p.u[1]));
    slopes[0][i] = b;
    slopes[1][i] = a;
    (is_above ? r->above_at : r->below_at)[i] = is_above ? up(-a * b, size) : down(-a * b, size);
}

void takt_relax_mul(takt_relaxing *r)
{
    for (size_t i = 0; i < r->count; i++) {
        const pair p = pair_of(r, i);
        plane(r, i, false, p.l[0], p.l[1]);
        plane(r, i, true, p.u[0], p.l[1]);
    }
}

static double choice_of(const takt_relaxing *r, size_t i, bool is_above, double usual)
{
    const double *choice = r->choice[is_above];
    return choice != NULL ? fmin(fmax(choice[i], 0), 1) : usual;
}

/* Slopes t and 1 - t for the two: sign * max is above that; and max <= x + k (y - x - least). */
void takt_relax_max(takt_relaxing *r, double sign)
{
    double *const *touch = sign > 0 ? r->below : r->above;
    double *const *cover = sign > 0 ? r->above : r->below;
    double *touch_at = sign > 0 ? r->below_at : r->above_at;
    double *cover_at = sign > 0 ? r->above_at : r->below_at;
    for (size_t i = 0; i < r->count; i++) {
        const pair p = pair_of(r, i);
        const double x = sign > 0 ? p.l[0] : -p.u[0], y = sign > 0 ? p.l[1] : -p.u[1];
        const double x_top = sign > 0 ? p.u[0] : -p.l[0], y_top = sign > 0 ? p.u[1] : -p.l[1];
        /* sign * f = max(sign x, sign y); d = sign (y - x) lies in [least, most]. */
        const double least = y - x_top, most = y_top - x;
        const double k = least >= 0 ? 1 : most <= 0 ? 0 : most / (most - least);
        const double size = fabs(x) + fabs(y) + fabs(x_top) + fabs(y_top);
        double t = choice_of(r, i, sign<0, x + x_top> y + y_top ? 0 : 1);
        t = least >= 0 ? 1 : most <= 0 ? 0 : t;
        touch[0][i] = 1 - t;
        touch[1][i] = 1 - (1 - t);
        touch_at[i] = sign * down(0, t == 0 || t == 1 ? 0 : size);
        cover[0][i] = 1 - k;
        cover[1][i] = k;
        const double offset = k == 0 || k == 1 ? 0 : up(-k * least, 4 * size);
        cover_at[i] = sign * offset;
    }
}
