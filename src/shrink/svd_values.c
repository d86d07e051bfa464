/* svd_values.c - singular values without vectors.
 *
 * The Gram matrix of the columns is made tridiagonal; its eigenvalues, which are the squares of the
 * values, are found by bisection on the signs of pivots. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "shrink/svd.h"

enum { LANES = 8 };

/* The upper triangle of the products of all columns. */
static void gram(const double *w, int64_t length, int64_t n, double *g)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i; j < n; j++)
            g[i * n + j] = takt_svd_dot(w + i * length, w + j * length, length);
}

/* y += b x; returns x z. */
static double add_and_dot(double *restrict y, const double *restrict x, const double *restrict z,
                          double b, int64_t n)
{
    double sum = 0;
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        double lane[LANES];
        for (int64_t k = 0; k < LANES; k++) {
            y[i + k] += b * x[i + k];
            lane[k] = x[i + k] * z[i + k];
        }
        sum += ((lane[0] + lane[1]) + (lane[2] + lane[3])) +
               ((lane[4] + lane[5]) + (lane[6] + lane[7]));
    }
    for (; i < n; i++) {
        y[i] += b * x[i];
        sum += x[i] * z[i];
    }
    return sum;
}

/* y -= a x + b z */
static void take_both(double *restrict y, const double *restrict x, const double *restrict z,
                      double a, double b, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] -= a * x[i] + b * z[i];
}

/* One reflection: what is left of the upper triangle `g` of m rows becomes H g H, where H takes v
 * to a multiple of the first unit vector. Returns that multiple. */
static double reflect(double *g, double *v, double *p, int64_t m, int64_t n)
{
    const double norm = sqrt(takt_svd_dot(v, v, m)), alpha = v[0] > 0 ? -norm : norm;
    const double beta = 1 / (norm * norm + norm * fabs(v[0]));
    v[0] -= alpha;
    memset(p, 0, (size_t)m * sizeof *p);
    for (int64_t i = 0; i < m; i++) {
        const double *row = g + i * n + i;
        p[i] += row[0] * v[i];
        p[i] += add_and_dot(p + i + 1, row + 1, v + i + 1, v[i], m - i - 1);
    }
    for (int64_t i = 0; i < m; i++)
        p[i] *= beta;
    const double half = beta / 2 * takt_svd_dot(v, p, m);
    for (int64_t i = 0; i < m; i++)
        p[i] -= half * v[i];
    for (int64_t i = 0; i < m; i++)
        take_both(g + i * n + i, p + i, v + i, v[i], p[i], m - i);
    return alpha;
}

/* Diagonal d, and squares e of what lies next to it (Householder). */
static void tridiagonal(double *g, int64_t n, double *d, double *e, double *p)
{
    for (int64_t k = 0; k < n; k++) {
        const int64_t m = n - k - 1;
        double *v = g + k * n + k + 1, next = 0;
        d[k] = g[k * n + k];
        if (m == 1)
            next = v[0];
        else if (m > 1 && takt_svd_dot(v, v, m) > 0)
            next = reflect(g + (k + 1) * n + k + 1, v, p, m, n);
        e[k] = next * next;
    }
}

/* Eigenvalues below x: signs of the pivots of T - x. */
static int64_t below(const double *d, const double *e, int64_t n, double x)
{
    double pivot = 1;
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) {
        pivot = d[i] - x - (i > 0 ? e[i - 1] / pivot : 0);
        if (pivot == 0)
            pivot = DBL_MIN;
        count += pivot < 0;
    }
    return count;
}

takt_status takt_svd_values(takt_arena *arena, const double *a, int64_t rows, int64_t columns,
                            takt_svd *svd)
{
    enum { HALVINGS = 48 };
    *svd = (takt_svd){.rows = rows, .columns = columns};
    const double *w = takt_svd_columns(arena, a, svd);
    const int64_t n = svd->count;
    double *d = takt_arena_array(arena, (size_t)n, sizeof *d);
    double *g = takt_arena_array(arena, (size_t)(n * n), sizeof *g);
    double *e = takt_arena_array(arena, (size_t)n, sizeof *e);
    double *p = takt_arena_array(arena, (size_t)n, sizeof *p), high = 0;
    if (w == NULL || d == NULL || g == NULL || e == NULL || p == NULL)
        return TAKT_ERR_MEMORY;
    gram(w, rows > columns ? rows : columns, n, g);
    for (int64_t i = 0; i < n; i++)
        high += g[i * n + i]; /* no eigenvalue is more than all */
    tridiagonal(g, n, d, e, p);
    const double all = high;
    for (int64_t i = 0; i < n; i++) { /* by bisection, the largest first */
        double low = 0;
        for (int h = 0; h < HALVINGS && high - low > 1e-15 * all; h++) {
            const double middle = (low + high) / 2;
            if (below(d, e, n, middle) < n - i)
                low = middle;
            else
                high = middle;
        }
        svd->s[i] = sqrt(high);
    }
    return TAKT_OK;
}
