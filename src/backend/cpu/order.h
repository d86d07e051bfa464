/* order.h - sorting without memory of one's own: elements become integer keys with their places. */
#ifndef TAKT_BACKEND_CPU_ORDER_H
#define TAKT_BACKEND_CPU_ORDER_H

#include <stdbool.h>
#include <stddef.h>

#include "ir/dtype.h"

typedef struct takt_keyed {
    uint64_t key;
    uint64_t place;
} takt_keyed;

/* Keys of `n` elements that lie `stride` apart, in ascending order of what comes first; -0 and +0
 * are equal, and so are all NaNs, which count as largest. */
void takt_order_keys(takt_dtype dtype, const void *data, size_t stride, size_t n, bool descending,
                     takt_keyed *to);
/* By key, of equals the lower place first; `spare` has room for `n` too. */
void takt_order_sort(takt_keyed *items, takt_keyed *spare, size_t n);
/* Moves the first `k` in that order to the front of `items`, sorted. */
void takt_order_select(takt_keyed *items, size_t n, size_t k);
/* Sorts by place. */
void takt_order_by_place(takt_keyed *items, size_t n);

#endif
