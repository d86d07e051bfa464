/* unique.h - distinct rows. */
#ifndef TAKT_OP_UTIL_UNIQUE_H
#define TAKT_OP_UTIL_UNIQUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Rows along an axis: element k of row r is ((k / inner) * count + r) * inner + k % inner. */
typedef struct takt_unique {
    const double *f;  /* floats, */
    const int64_t *i; /* or whole numbers */
    bool is_unsigned; /* of 64 bits */
    size_t count, outer, inner;
    bool is_sorted; /* in the order of their values; else of appearance */
} takt_unique;

/* The result: for each distinct row its first position and its count (zeroed by the caller); for
 * each row the index of its distinct row. */
typedef struct takt_found_rows {
    size_t count;
    int64_t *first, *of, *times;
} takt_found_rows;

/* Bytes of memory that the search takes. */
size_t takt_unique_bytes(size_t rows);
void takt_unique_find(const takt_unique *u, void *memory, takt_found_rows *found);

#endif
