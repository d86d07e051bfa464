/* order.h - sorting in the caller's memory: elements become integer keys with their indices. */
#ifndef TAKT_BACKEND_CPU_ORDER_H
#define TAKT_BACKEND_CPU_ORDER_H

#include <stdbool.h>
#include <stddef.h>

#include "ir/dtype.h"
#include "kernel/poll.h"

typedef struct takt_keyed {
    uint64_t key;
    uint64_t place;
} takt_keyed;

/* `n` elements that lie `stride` apart. */
typedef struct takt_order_line {
    takt_dtype dtype;
    const void *data;
    size_t stride, n;
    bool descending;
} takt_order_line;

/* All of these return false if the poll stopped them; the items are then undefined. */

/* Keys whose ascending order is the sort order; -0 and +0 are equal, and so are all NaNs, which
 * count as largest. */
bool takt_order_keys(const takt_order_line *l, takt_keyed *to, const takt_poll *poll);
/* By key, and among equal keys by index; `spare` has room for `n` too. */
bool takt_order_sort(takt_keyed *items, takt_keyed *spare, size_t n, const takt_poll *poll);
/* The first `k` of a line in that order, sorted; k <= n. */
bool takt_order_select(const takt_order_line *l, takt_keyed *items, size_t k,
                       const takt_poll *poll);
/* Items that it needs room for. */
size_t takt_order_room(size_t n, size_t k);
/* Sorts by place. */
bool takt_order_by_place(takt_keyed *items, size_t n, const takt_poll *poll);

#endif
