/* sort.c - heap sort of pointers. */
#include "base/sort.h"

/* Lets the item at `root` sink until none of its children comes after it. */
static void sink(const void **items, size_t root, size_t count, takt_before_fn *before)
{
    for (size_t child; (child = 2 * root + 1) < count; root = child) {
        if (child + 1 < count && before(items[child], items[child + 1]))
            child++;
        if (!before(items[root], items[child]))
            return;
        const void *held = items[root];
        items[root] = items[child];
        items[child] = held;
    }
}

void takt_sort_pointers(const void **items, size_t count, takt_before_fn *before)
{
    for (size_t i = count / 2; i-- > 0;)
        sink(items, i, count, before);
    for (size_t end = count; end-- > 1;) {
        const void *last = items[end];
        items[end] = items[0];
        items[0] = last;
        sink(items, 0, end, before);
    }
}
