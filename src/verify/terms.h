/* terms.h - sums over the coefficients of a row, two at a time.
 *
 * Their order is free: takt_region.own covers every order. A coefficient of 0 adds nothing, even if
 * its factor is infinite.
 */
#ifndef TAKT_VERIFY_TERMS_H
#define TAKT_VERIFY_TERMS_H

#include <stdbool.h>
#include <stddef.h>

/* Sum of row * (row > 0 ? below : above), less the sum of |row| * error, rounded up. */
double takt_terms_sides(const double *row, const double *below, const double *above,
                        const double *error, size_t count);
/* Sum of row * (row > 0 ? lo : hi), less `own` times the sum of |row| * max(|lo|, |hi|). */
double takt_terms_least(const double *row, const double *lo, const double *hi, double own,
                        size_t count);

/* The least and greatest sum of w * x for x between lo and hi; returns the sum of magnitudes. NaN
 * where a product is. */
double takt_terms_span(const double *w, const double *lo, const double *hi, size_t count,
                       double *least, double *most);

/* Lines of the elements that a row passes, and what each costs. */
typedef struct takt_terms_lines {
    const double *below, *above, *below_at, *above_at, *error;
} takt_terms_lines;

/* As takt_terms_sides for the offsets, and to[i] = row[i] times the slope, added to what is there
 * if `adds`. */
double takt_terms_lines_of(const double *row, const takt_terms_lines *l, double *to, size_t count,
                           bool adds);

#endif
