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

double takt_svd_dot(const double *a, const double *b, int64_t n)
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
    return now > old / 16 ? now : takt_svd_dot(a, a, n);
}

/* Makes two columns orthogonal; false if they are already. */
static bool orthogonalise(work *k, int64_t i, int64_t j)
{
    double *a = k->w + i * k->length, *b = k->w + j * k->length;
    const double aa = k->squares[i], bb = k->squares[j], ab = takt_svd_dot(a, b, k->length);
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
        k->squares[i] = takt_svd_dot(k->w + i * k->length, k->w + i * k->length, k->length);
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
        const double value = sqrt(takt_svd_dot(column, column, k->length));
        int64_t at = i;
        for (; at > 0 && s[at - 1] < value; at--) {
            s[at] = s[at - 1];
            place[at] = place[at - 1];
        }
        s[at] = value;
        place[at] = i;
    }
}

double *takt_svd_columns(takt_arena *arena, const double *a, takt_svd *svd)
{
    const int64_t rows = svd->rows, columns = svd->columns;
    const bool flips = columns > rows;
    const int64_t length = flips ? columns : rows;
    svd->count = flips ? rows : columns;
    svd->s = takt_arena_array(arena, (size_t)svd->count, sizeof *svd->s);
    double *w = takt_arena_array(arena, (size_t)(length * svd->count), sizeof *w);
    if (svd->s == NULL || w == NULL)
        return NULL;
    for (int64_t c = 0; c < svd->count; c++)
        for (int64_t r = 0; r < length; r++)
            w[c * length + r] = flips ? a[c * columns + r] : a[r * columns + c];
    return w;
}

takt_status takt_svd_make(takt_arena *arena, const double *a, int64_t rows, int64_t columns,
                          const takt_svd_watch *watch, takt_svd *svd)
{
    const bool flips = columns > rows;
    *svd = (takt_svd){.rows = rows, .columns = columns};
    double *all = takt_svd_columns(arena, a, svd); /* sets the count */
    work k = {.w = all,
              .length = flips ? columns : rows,
              .count = svd->count,
              .squares = takt_arena_array(arena, (size_t)svd->count, sizeof *k.squares)};
    if (k.w == NULL || k.squares == NULL)
        return TAKT_ERR_MEMORY;
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
