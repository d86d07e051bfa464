/* formula.c - a table of numbers as a few polynomials. Third differences of a polynomial of degree
 * 2 are 0; with rounding they are 0 at the distance of a period. */
#include "measure/report/formula.h"

#include <math.h>
#include <stdio.h>

/* How many values, starting with the first, lie on polynomials of this period; fewer than four of
 * each prove nothing unless the period is 1. */
static size_t reach(const int64_t *v, size_t count, size_t period)
{
    size_t n = 3 * period;
    if (count <= n)
        return period == 1 ? count : 0;
    while (n < count && v[n] - 3 * v[n - period] + 3 * v[n - 2 * period] == v[n - 3 * period])
        n++;
    return period == 1 || n >= 4 * period ? n : 0;
}

/* The polynomial through v[0], v[p], v[2p], which are the values at n, n + p, n + 2p; `count`
 * values are there. */
static void solve(takt_piece *to, const int64_t *v, size_t count, int64_t n)
{
    const size_t p = (size_t)to->period;
    const double period = (double)p, start = (double)n;
    const double first = count > p ? (double)(v[p] - v[0]) : 0;
    const double second = count > 2 * p ? (double)(v[2 * p] - 2 * v[p] + v[0]) : 0;
    const double slope = (first - second / 2) / period, square = second / 2 / (period * period);
    const int64_t r = n % to->period;
    to->square[r] = square;
    to->linear[r] = slope - 2 * square * start;
    to->constant[r] = (double)v[0] - slope * start + square * start * start;
}

/* The piece that begins with v[0] at n; how many values it has. */
static size_t take(takt_piece *to, const int64_t *v, size_t count, int64_t n)
{
    size_t best = 0;
    *to = (takt_piece){.from = n, .period = 1};
    for (int period = 1; period <= TAKT_PERIOD; period *= 2) {
        const size_t length = reach(v, count, (size_t)period);
        if (length > best) {
            best = length;
            to->period = period;
        }
    }
    if (best < 4 && !(best == 3 && v[2] - 2 * v[1] + v[0] == 0))
        best = 1; /* any three values lie on a polynomial */
    for (size_t r = 0; r < (size_t)to->period; r++)
        solve(to, v + r, best - r, n + (int64_t)r);
    to->to = n + (int64_t)best - 1;
    return best;
}

/* A polynomial that bounds all values from above: with their slope from end to end and their
 * curvature in the middle. */
static void bound(takt_formula *f, const int64_t *v, size_t count, int64_t low, int64_t step)
{
    takt_piece *p = &f->at[0];
    const double last = (double)(count - 1);
    const size_t half = (count - 1) / 2;
    double square = 0;
    if (half > 0) { /* through the ends and the middle; whole numbers, so that sums are exact */
        const double a = (double)(v[half] - v[0]) / (double)half;
        const double b = (double)(v[count - 1] - v[half]) / (double)(count - 1 - half);
        square = ceil((b - a) / last / (double)(step * step));
    }
    square = square > 0 ? square : 0;
    *p = (takt_piece){.from = low, .to = low + (int64_t)(count - 1) * step, .period = 1};
    const double width = (double)(p->to - low), sum = (double)(p->to + low);
    p->square[0] = square;
    p->linear[0] = width > 0 ? ceil((double)(v[count - 1] - v[0]) / width - square * sum) : 0;
    double most = -INFINITY;
    for (size_t i = 0; i < count; i++) {
        const double n = (double)(low + (int64_t)i * step);
        most = fmax(most, (double)v[i] - square * n * n - p->linear[0] * n);
    }
    p->constant[0] = most;
    f->is_exact = false;
    f->count = 1;
}

void takt_formula_find(takt_formula *f, const int64_t *values, size_t count, int64_t low,
                       int64_t step)
{
    size_t at = 0;
    f->is_exact = true;
    f->count = 0;
    while (step == 1 && at < count && f->count < TAKT_PIECES)
        at += take(&f->at[f->count++], values + at, count - at, low + (int64_t)at);
    if (at < count)
        bound(f, values, count, low, step);
}

double takt_formula_at(const takt_formula *f, int64_t n)
{
    for (size_t i = 0; i < f->count; i++) {
        const takt_piece *p = &f->at[i];
        const int64_t r = n % p->period;
        const double x = (double)n;
        if (n >= p->from && n <= p->to)
            return p->square[r] * x * x + p->linear[r] * x + p->constant[r];
    }
    return 0;
}

/* ---- as text ---- */

typedef struct writer {
    char *to;
    size_t room, used;
} writer;

static void put(writer *w, const char *text)
{
    const size_t left = w->used < w->room ? w->room - w->used : 0;
    w->used += (size_t)snprintf(left > 0 ? w->to + w->used : NULL, left, "%s", text);
}

/* " + 16*seq^2": a term that is not 0. */
static void put_term(writer *w, double factor, const char *name, const char *power)
{
    char text[64];
    if (factor == 0)
        return;
    put(w, w->used == 0 ? (factor < 0 ? "-" : "") : factor < 0 ? " - " : " + ");
    snprintf(text, sizeof text, "%.17g%s", fabs(factor), name[0] != '\0' ? "*" : "");
    put(w, text);
    put(w, name);
    put(w, power);
}

static bool is_common(const takt_piece *p)
{
    bool same = true;
    for (int r = 1; r < p->period; r++)
        same = same && p->square[r] == p->square[0] && p->linear[r] == p->linear[0];
    return same;
}

static void put_one(writer *w, const takt_piece *p, int r, const char *name)
{
    writer inner = {w->used < w->room ? w->to + w->used : NULL,
                    w->used < w->room ? w->room - w->used : 0, 0};
    put_term(&inner, p->square[r], name, "^2");
    put_term(&inner, p->linear[r], name, "");
    put_term(&inner, p->constant[r], "", "");
    if (inner.used == 0)
        put(&inner, "0");
    w->used += inner.used;
}

static void put_list(writer *w, const takt_piece *p, const char *name)
{
    char text[64];
    put_term(w, p->square[0], name, "^2");
    put_term(w, p->linear[0], name, "");
    put(w, w->used > 0 ? " + [" : "[");
    for (int r = 0; r < p->period; r++) {
        snprintf(text, sizeof text, "%s%.17g", r > 0 ? ", " : "", p->constant[r]);
        put(w, text);
    }
    put(w, "][");
    put(w, name);
    snprintf(text, sizeof text, " mod %d]", p->period);
    put(w, text);
}

size_t takt_piece_write(const takt_piece *p, const char *name, char *to, size_t room)
{
    writer w = {to, room, 0};
    if (p->period > 1 && is_common(p)) {
        put_list(&w, p, name);
        return w.used;
    }
    for (int r = 0; r < p->period; r++) {
        char text[64];
        put_one(&w, p, r, name);
        if (p->period == 1)
            break;
        snprintf(text, sizeof text, " if mod %d = %d%s", p->period, r,
                 r + 1 < p->period ? ", " : "");
        put(&w, text);
    }
    return w.used;
}
