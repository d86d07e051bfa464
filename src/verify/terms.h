/* terms.h - sums over the coefficients of a row, two at a time.
 *
 * Their order is free: takt_region.own covers every order. A coefficient of 0 adds nothing, even if
 * its factor is infinite.
 */
#ifndef TAKT_VERIFY_TERMS_H
#define TAKT_VERIFY_TERMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { TAKT_TERMS_STEP = 8 };

/* Whether this many coefficients are 0. */
static inline bool takt_terms_none(const double *row)
{
    uint64_t bits[TAKT_TERMS_STEP], any = 0;
    memcpy(bits, row, sizeof bits);
    for (int i = 0; i < TAKT_TERMS_STEP; i++)
        any |= bits[i];
    return any << 1 == 0;
}

/* Sum of row * (row > 0 ? below : above), less the sum of |row| * error, rounded up. */
double takt_terms_sides(const double *row, const double *below, const double *above,
                        const double *error, size_t count);
/* The same for rows most of which is 0. */
double takt_terms_few_sides(const double *row, const double *below, const double *above,
                            const double *error, size_t count);
/* Sum of row * (row > 0 ? lo : hi), less `own` times the sum of |row| * max(|lo|, |hi|). */
double takt_terms_least(const double *row, const double *lo, const double *hi, double own,
                        size_t count);

/* The least and greatest sum of w * x for x between lo and hi; returns the sum of magnitudes. NaN
 * where a product is. */
double takt_terms_span(const double *w, const double *lo, const double *hi, size_t count,
                       double *least, double *most);

/* Lines of the elements that a row passes, and the loss at each. */
typedef struct takt_terms_lines {
    const double *below, *above, *below_at, *above_at, *error;
} takt_terms_lines;

/* As takt_terms_sides for the offsets, and to[i] = row[i] times the slope, accumulated if
 * `adds`. */
double takt_terms_lines_of(const double *row, const takt_terms_lines *l, double *to, size_t count,
                           bool adds);

/* Lines of functions of two elements. */
typedef struct takt_terms_planes {
    const double *below[2], *above[2], *below_at, *above_at, *error;
    const uint32_t *columns[2]; /* where each element's first and second are; NULL: in order */
} takt_terms_planes;

/* As takt_terms_few_sides for the offsets, and the first and second of element i grow by row[i]
 * times the slope. */
double takt_terms_planes_of(const double *row, const takt_terms_planes *l, double *const to[2],
                            size_t count);

#endif
