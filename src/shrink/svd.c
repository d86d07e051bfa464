/* svd.c - singular values of a matrix of doubles.
 *
 * Columns are rotated against each other until every pair is orthogonal; their lengths are then the
 * singular values (Hestenes 1958). Columns are contiguous, so that a pair is two vectors. */
#include "shrink/svd.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { SWEEPS = 60, LANES = 8 };

typedef struct work {
    int64_t length, count; /* of a column; columns */
    double *w;             /* count columns of `length` */
    double *v;             /* count columns of `count`: the accumulated rotations */
    double *squares;       /* of the lengths of the columns of w */
    double least;          /* cosine of an angle that counts as right: the rounding of a product */
} work;

/* In lanes, which do not wait for each other. */
static double dot(const double *a, const double *b, int64_t n)
{
    double lane[LANES] = {0}, sum = 0;
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int64_t k = 0; k < LANES; k++)
            lane[k] += a[i + k] * b[i + k];
    for (; i < n; i++)
        sum += a[i] * b[i];
    for (int64_t k = 0; k < LANES; k++)
        sum += lane[k];
    return sum;
}

static inline void rotate_some(double *restrict a, double *restrict b, int64_t n, double c,
                               double s)
{
    for (int64_t i = 0; i < n; i++) {
        const double x = a[i], y = b[i];
        a[i] = c * x - s * y;
        b[i] = s * x + c * y;
    }
}

static void rotate(double *restrict a, double *restrict b, int64_t n, double c, double s)
{
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) /* a count that compilers turn into vectors */
        rotate_some(a + i, b + i, LANES, c, s);
    rotate_some(a + i, b + i, n - i, c, s);
}

/* The square of a column that a rotation changed from `old`: computed again where little is left.
 */
static double square(const double *a, int64_t n, double old, double now)
{
    return now > old / 16 ? now : dot(a, a, n);
}

/* Makes two columns orthogonal; false if they are already. */
static bool orthogonalise(work *k, int64_t i, int64_t j)
{
    double *a = k->w + i * k->length, *b = k->w + j * k->length;
    const double aa = k->squares[i], bb = k->squares[j], ab = dot(a, b, k->length);
    if (fabs(ab) <= k->least * sqrt(aa * bb) || ab == 0)
        return false;
    const double zeta = (bb - aa) / (2 * ab);
    const double t = (zeta >= 0 ? 1 : -1) / (fabs(zeta) + sqrt(1 + zeta * zeta));
    const double c = 1 / sqrt(1 + t * t);
    rotate(a, b, k->length, c, c * t);
    rotate(k->v + i * k->count, k->v + j * k->count, k->count, c, c * t);
    k->squares[i] = square(a, k->length, aa, aa - t * ab);
    k->squares[j] = square(b, k->length, bb, bb + t * ab);
    return true;
}

/* Every pair once; false: none had to be rotated. */
static bool sweep(work *k)
{
    bool has_rotated = false;
    for (int64_t i = 0; i < k->count; i++)
        k->squares[i] = dot(k->w + i * k->length, k->w + i * k->length, k->length);
    for (int64_t i = 0; i < k->count; i++)
        for (int64_t j = i + 1; j < k->count; j++)
            has_rotated = orthogonalise(k, i, j) || has_rotated;
    return has_rotated;
}

/* The largest first. */
static void order(const work *k, double *s, int64_t *place)
{
    for (int64_t i = 0; i < k->count; i++) {
        const double *column = k->w + i * k->length;
        const double value = sqrt(dot(column, column, k->length));
        int64_t at = i;
        for (; at > 0 && s[at - 1] < value; at--) {
            s[at] = s[at - 1];
            place[at] = place[at - 1];
        }
        s[at] = value;
        place[at] = i;
    }
}

/* The longer side becomes the columns. */
static takt_status begin(takt_arena *arena, const double *a, takt_svd *svd, work *k)
{
    const int64_t rows = svd->rows, columns = svd->columns;
    const bool flips = columns > rows;
    *k = (work){.length = flips ? columns : rows, .count = flips ? rows : columns};
    svd->count = k->count;
    k->w = takt_arena_array(arena, (size_t)(k->length * k->count), sizeof *k->w);
    k->squares = takt_arena_array(arena, (size_t)k->count, sizeof *k->squares);
    svd->s = takt_arena_array(arena, (size_t)k->count, sizeof *svd->s);
    if (k->w == NULL || k->squares == NULL || svd->s == NULL)
        return TAKT_ERR_MEMORY;
    for (int64_t c = 0; c < k->count; c++)
        for (int64_t r = 0; r < k->length; r++)
            k->w[c * k->length + r] = flips ? a[c * columns + r] : a[r * columns + c];
    return TAKT_OK;
}

takt_status takt_svd_make(takt_arena *arena, const double *a, int64_t rows, int64_t columns,
                          const takt_svd_watch *watch, takt_svd *svd)
{
    const bool flips = columns > rows;
    work k;
    *svd = (takt_svd){.rows = rows, .columns = columns};
    TAKT_TRY(begin(arena, a, svd, &k));
    k.least = DBL_EPSILON * sqrt((double)k.length);
    k.v = takt_arena_array(arena, (size_t)(k.count * k.count), sizeof *k.v);
    double *left = takt_arena_array(arena, (size_t)(k.length * k.count), sizeof *left);
    double *right = takt_arena_array(arena, (size_t)(k.count * k.count), sizeof *right);
    int64_t *place = takt_arena_array(arena, (size_t)k.count, sizeof *place);
    if (k.v == NULL || left == NULL || right == NULL || place == NULL)
        return TAKT_ERR_MEMORY;
    for (int64_t c = 0; c < k.count; c++)
        k.v[c * k.count + c] = 1;
    for (int i = 0; i < SWEEPS && sweep(&k); i++)
        if (watch != NULL) /* how many follow is not known: usually about ten in all */
            watch->at(watch->user, (i + 1.0) / (i + 5.0));
    order(&k, svd->s, place);
    for (int64_t c = 0; c < k.count; c++) {
        const double *w = k.w + place[c] * k.length, *v = k.v + place[c] * k.count;
        const double by = svd->s[c] > 0 ? 1 / svd->s[c] : 0;
        for (int64_t r = 0; r < k.length; r++)
            left[r * k.count + c] = w[r] * by;
        for (int64_t r = 0; r < k.count; r++)
            right[r * k.count + c] = v[r];
    }
    svd->u = flips ? right : left;
    svd->v = flips ? left : right;
    return TAKT_OK;
}

/* ---- values alone ---- */

/* The upper triangle of the products of all columns. */
static void gram(const work *k, double *g)
{
    for (int64_t i = 0; i < k->count; i++)
        for (int64_t j = i; j < k->count; j++)
            g[i * k->count + j] = dot(k->w + i * k->length, k->w + j * k->length, k->length);
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
    const double norm = sqrt(dot(v, v, m)), alpha = v[0] > 0 ? -norm : norm;
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
    const double half = beta / 2 * dot(v, p, m);
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
        double *v = g + k * n + k + 1, beside = 0;
        d[k] = g[k * n + k];
        if (m == 1)
            beside = v[0];
        else if (m > 1 && dot(v, v, m) > 0)
            beside = reflect(g + (k + 1) * n + k + 1, v, p, m, n);
        e[k] = beside * beside;
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
    work k;
    *svd = (takt_svd){.rows = rows, .columns = columns};
    TAKT_TRY(begin(arena, a, svd, &k));
    const int64_t n = k.count;
    double *g = takt_arena_array(arena, (size_t)(n * n), sizeof *g);
    double *e = takt_arena_array(arena, (size_t)n, sizeof *e);
    double *p = takt_arena_array(arena, (size_t)n, sizeof *p), high = 0;
    if (g == NULL || e == NULL || p == NULL)
        return TAKT_ERR_MEMORY;
    gram(&k, g);
    for (int64_t i = 0; i < n; i++)
        high += g[i * n + i]; /* no eigenvalue is more than all */
    tridiagonal(g, n, k.squares, e, p);
    const double all = high;
    for (int64_t i = 0; i < n; i++) { /* by bisection, the largest first */
        double low = 0;
        for (int h = 0; h < HALVINGS && high - low > 1e-15 * all; h++) {
            const double middle = (low + high) / 2;
            if (below(k.squares, e, n, middle) < n - i)
                low = middle;
            else
                high = middle;
        }
        svd->s[i] = sqrt(high);
    }
    return TAKT_OK;
}

static double squares(const takt_svd *svd, int64_t first)
{
    double sum = 0;
    for (int64_t i = first; i < svd->count; i++)
        sum += svd->s[i] * svd->s[i];
    return sum;
}

int64_t takt_svd_rank(const takt_svd *svd, double energy)
{
    const double all = squares(svd, 0);
    double sum = 0;
    for (int64_t i = 0; i < svd->count; i++) {
        sum += svd->s[i] * svd->s[i];
        if (sum >= energy * all)
            return i + 1;
    }
    return svd->count;
}

double takt_svd_error(const takt_svd *svd, int64_t rank)
{
    const double all = squares(svd, 0);
    return all > 0 ? sqrt(squares(svd, rank) / all) : 0;
}
