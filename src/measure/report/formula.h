/* formula.h - a table of numbers as a few polynomials: bytes by size. */
#ifndef TAKT_MEASURE_REPORT_FORMULA_H
#define TAKT_MEASURE_REPORT_FORMULA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TAKT_PIECES = 12, TAKT_PERIOD = 16 };

/* square[r] * n^2 + linear[r] * n + constant[r] with r = n mod period, for n = from .. to. Values
 * are rounded up to whole cache lines, which a period describes. Coefficients are exact: their
 * denominators are powers of two. */
typedef struct takt_piece {
    int64_t from, to;
    int period;
    double square[TAKT_PERIOD], linear[TAKT_PERIOD], constant[TAKT_PERIOD];
} takt_piece;

typedef struct takt_formula {
    bool is_exact; /* else one piece, an upper bound of all values that were given */
    size_t count;
    takt_piece at[TAKT_PIECES];
} takt_formula;

/* Of values[i] at n = low + i * step. With a step above 1, or if more than TAKT_PIECES pieces were
 * needed, the result is a bound. */
void takt_formula_find(takt_formula *f, const int64_t *values, size_t count, int64_t low,
                       int64_t step);
/* Its value at n; n must be in one of the pieces. */
double takt_formula_at(const takt_formula *f, int64_t n);
/* "16*seq^2 + 1024*seq + 4096"; with a period the constants are a list. */
size_t takt_piece_write(const takt_piece *p, const char *name, char *to, size_t room);

#endif
