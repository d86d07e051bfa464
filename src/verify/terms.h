/* terms.h - sums over the coefficients of a row, two at a time.
 *
 * Their order is free: takt_region.own covers every order. A coefficient of 0 adds nothing, even if
 * its factor is infinite.
 */
#ifndef TAKT_VERIFY_TERMS_H
#define TAKT_VERIFY_TERMS_H

#include <stddef.h>

/* Sum of row * (row > 0 ? below : above), less the sum of |row| * error, rounded up. */
double takt_terms_sides(const double *row, const double *below, const double *above,
                        const double *error, size_t count);
/* Sum of row * (row > 0 ? lo : hi), less `own` times the sum of |row| * max(|lo|, |hi|). */
double takt_terms_least(const double *row, const double *lo, const double *hi, double own,
                        size_t count);

#endif
