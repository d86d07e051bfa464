/* number.h - decimal text to double and back: correctly rounded, independent of the locale. */
#ifndef TAKT_BASE_NUMBER_H
#define TAKT_BASE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/inner.h"

enum { TAKT_NUMBER_TEXT = 48 };

/* The nearest double (half to even) to a decimal such as -12.5e-3: an optional sign, digits with at
 * most one point among or around them, an optional exponent. False if `text` is anything else or
 * has no digit. Too large gives infinity, too small gives zero. */
TAKT_INNER bool takt_number_read(const char *text, size_t length, double *value);

/* The shortest decimal that reads back as `value`; "inf", "-inf", "nan". Returns its length. */
size_t takt_number_write(double value, char to[TAKT_NUMBER_TEXT]);

#endif
