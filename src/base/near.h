/* near.h - the nearest of many names to a misspelt one. */
#ifndef TAKT_BASE_NEAR_H
#define TAKT_BASE_NEAR_H

#include <stddef.h>

#include "base/inner.h"

typedef struct takt_nearest {
    const char *wanted, *best; /* best: NULL until a candidate is close enough */
    size_t distance;
} takt_nearest;

TAKT_INNER takt_nearest takt_nearest_to(const char *wanted);
/* Candidates are borrowed: `best` is one of them. */
TAKT_INNER void takt_nearest_try(takt_nearest *n, const char *candidate);

#endif
