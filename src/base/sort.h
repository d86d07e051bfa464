/* sort.h - sorting without allocation: the C library's qsort may allocate. */
#ifndef TAKT_BASE_SORT_H
#define TAKT_BASE_SORT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/inner.h"

/* True if `a` must come before `b`; a strict order, so that the result is the same everywhere. */
typedef bool takt_before_fn(const void *a, const void *b);

/* Sorts an array of pointers by their targets; always n log n. */
TAKT_INNER void takt_sort_pointers(const void **items, size_t count, takt_before_fn *before);

#endif
