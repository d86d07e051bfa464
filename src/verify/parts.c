/* parts.c - rows of coefficients through one part of a sum, in f64. */
#include "verify/parts.h"

#include "verify/terms.h"

/* ---- dense ---- */

/* out[r] += a[r] W for four rows at a time: W is read once for them. */
static void dense_rows(const double *restrict a, const double *restrict w, double *restrict out,
                       size_t count, size_t width)
{
    for (size_t j = 0; j < count; j++) {
        const double a0 = a[j], a1 = a[count + j], a2 = a[2 * count + j], a3 = a[3 * count + j];
        if (a0 == 0 && a1 == 0 && a2 == 0 && a3 == 0)
            continue;
        const double *restrict row = w + j * width;
        double *restrict o0 = out, *restrict o1 = out + width, *restrict o2 = out + 2 * width,
                         *restrict o3 = out + 3 * width;
        for (size_t k = 0; k < width; k++) {
            const double x = row[k];
            o0[k] += a0 * x;
            o1[k] += a1 * x;
            o2[k] += a2 * x;
            o3[k] += a3 * x;
        }
    }
}

static void dense_row(const double *restrict a, const double *restrict w, double *restrict out,
                      size_t count, size_t width)
{
    for (size_t j = 0; j < count; j++) {
        const double x = a[j];
        if (x == 0)
            continue;
        for (size_t k = 0; k < width; k++)
            out[k] += x * w[j * width + k];
    }
}

static void through_dense(const takt_net_part *p, const double *a, double *out,
                          takt_parts_size size)
{
    size_t r = 0;
    for (; r + 4 <= size.rows; r += 4)
        dense_rows(a + r * size.count, p->values, out + r * size.width, size.count, size.width);
    for (; r < size.rows; r++)
        dense_row(a + r * size.count, p->values, out + r * size.width, size.count, size.width);
}

/* ---- sparse ---- */

/* Four rows: neighbouring columns, as a product with a token's weights has them, go together. */
static void sparse_rows(const takt_net_part *p, const double *restrict a, double *restrict out,
                        takt_parts_size size)
{
    const size_t count = size.count, width = size.width;
    for (size_t j = 0; j < count; j++) {
        const double a0 = a[j], a1 = a[count + j], a2 = a[2 * count + j], a3 = a[3 * count + j];
        if (a0 == 0 && a1 == 0 && a2 == 0 && a3 == 0)
            continue;
        for (size_t e = p->starts[j]; e < p->starts[j + 1]; e += p->runs[e]) {
            const double *restrict w = p->values + e;
            double *restrict o0 = out + p->columns[e], *restrict o1 = o0 + width,
                             *restrict o2 = o1 + width, *restrict o3 = o2 + width;
            for (size_t k = 0; k < p->runs[e]; k++) {
                const double x = w[k];
                o0[k] += a0 * x;
                o1[k] += a1 * x;
                o2[k] += a2 * x;
                o3[k] += a3 * x;
            }
        }
    }
}

/* The same where columns are scattered: four chains of sums instead of one. */
static void scattered_rows(const takt_net_part *p, const double *restrict a, double *restrict out,
                           takt_parts_size size)
{
    const size_t count = size.count, width = size.width;
    const size_t *restrict starts = p->starts;
    const uint32_t *restrict columns = p->columns;
    const double *restrict values = p->values;
    for (size_t j = 0; j < count; j++) {
        const double a0 = a[j], a1 = a[count + j], a2 = a[2 * count + j], a3 = a[3 * count + j];
        if (a0 == 0 && a1 == 0 && a2 == 0 && a3 == 0)
            continue;
        for (size_t e = starts[j]; e < starts[j + 1]; e++) {
            const double x = values[e];
            double *to = out + columns[e];
            to[0] += a0 * x;
            to[width] += a1 * x;
            to[2 * width] += a2 * x;
            to[3 * width] += a3 * x;
        }
    }
}

static void sparse_row(const takt_net_part *p, const double *row, double *to, size_t count)
{
    for (size_t j = 0; j < count; j++) {
        const double x = row[j];
        if (x == 0)
            continue;
        for (size_t e = p->starts[j]; e < p->starts[j + 1]; e++)
            to[p->columns[e]] += x * p->values[e];
    }
}

static void through_sparse(const takt_net_part *p, const double *a, double *out,
                           takt_parts_size size)
{
    size_t r = 0;
    for (; r + 4 <= size.rows; r += 4)
        (p->runs != NULL ? sparse_rows : scattered_rows)(p, a + r * size.count,
                                                         out + r * size.width, size);
    for (; r < size.rows; r++)
        sparse_row(p, a + r * size.count, out + r * size.width, size.count);
}

/* ---- maps ---- */

/* Element by element: scaling an input by constants. */
static bool is_straight(const takt_net_part *p, size_t count, size_t width)
{
    bool is_so = p->form == TAKT_NET_MAP && count == width;
    for (size_t j = 0; j < count && is_so; j++)
        is_so = p->columns[j] == j;
    return is_so;
}

static void scale_rows(const takt_net_part *p, const double *restrict a, double *restrict out,
                       size_t count, size_t rows)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t j = 0; j < count; j++)
            out[r * count + j] +=
                a[r * count + j] * (p->factor * (p->values != NULL ? p->values[j] : 1));
}

/* Most rows have few elements of a product of two unknown matrices. */
static void map_row(const takt_net_part *p, const double *restrict row, double *restrict to,
                    size_t count)
{
    const uint32_t *restrict columns = p->columns;
    const double *restrict values = p->values;
    size_t j = 0;
    while (j < count) {
        if (j + TAKT_TERMS_STEP <= count && takt_terms_none(row + j)) {
            j += TAKT_TERMS_STEP;
            continue;
        }
        const size_t end = j + TAKT_TERMS_STEP < count ? j + TAKT_TERMS_STEP : count;
        for (; j < end; j++)
            if (row[j] != 0 && columns[j] != UINT32_MAX)
                to[columns[j]] += row[j] * (p->factor * (values != NULL ? values[j] : 1));
    }
}

static void through_map(const takt_net_part *p, const double *a, double *out, takt_parts_size size)
{
    if (is_straight(p, size.count, size.width)) {
        scale_rows(p, a, out, size.count, size.rows);
        return;
    }
    for (size_t r = 0; r < size.rows; r++)
        map_row(p, a + r * size.count, out + r * size.width, size.count);
}

void takt_parts_back(const takt_net_part *p, const double *a, double *out, takt_parts_size size)
{
    if (p->form == TAKT_NET_DENSE)
        through_dense(p, a, out, size);
    else if (p->form == TAKT_NET_SPARSE)
        through_sparse(p, a, out, size);
    else
        through_map(p, a, out, size);
}
