/* order.c - keys, a merge sort, and a heap that keeps the first few. */
#include "backend/cpu/order.h"

#include <math.h>
#include <string.h>

/* ---- keys ---- */

static uint64_t key_of_double(double x)
{
    uint64_t bits;
    if (isnan(x))
        return UINT64_MAX;
    x += 0.0; /* -0 becomes +0 */
    memcpy(&bits, &x, sizeof bits);
    return bits >> 63 != 0 ? ~bits : bits | UINT64_C(1) << 63;
}

static uint64_t key_of(takt_dtype dtype, const void *data, size_t i)
{
    if (takt_dtype_is_float(dtype))
        return key_of_double(takt_dtype_get_f(dtype, data, i));
    const uint64_t bits = (uint64_t)takt_dtype_get_i(dtype, data, i);
    return takt_dtype_is_signed(dtype) ? bits ^ UINT64_C(1) << 63 : bits;
}

void takt_order_keys(takt_dtype dtype, const void *data, size_t stride, size_t n, bool descending,
                     takt_keyed *to)
{
    const uint64_t flip = descending ? UINT64_MAX : 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t key;
        if (dtype == TAKT_F32) /* the common case */
            key = key_of_double((double)((const float *)data)[i * stride]);
        else
            key = key_of(dtype, data, i * stride);
        to[i] = (takt_keyed){key ^ flip, i};
    }
}

/* ---- sorting ---- */

static bool is_before(const takt_keyed *a, const takt_keyed *b)
{
    return a->key != b->key ? a->key < b->key : a->place < b->place;
}

static void insertion(takt_keyed *items, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        const takt_keyed it = items[i];
        size_t j = i;
        for (; j > 0 && it.key < items[j - 1].key; j--)
            items[j] = items[j - 1];
        items[j] = it;
    }
}

static void merge(const takt_keyed *a, size_t na, const takt_keyed *b, size_t nb, takt_keyed *to)
{
    while (na > 0 && nb > 0)
        if (b->key < a->key) { /* of equals the left one: stable */
            *to++ = *b++;
            nb--;
        } else {
            *to++ = *a++;
            na--;
        }
    memcpy(to, a, na * sizeof *a);
    memcpy(to + na, b, nb * sizeof *b);
}

void takt_order_sort(takt_keyed *items, takt_keyed *spare, size_t n)
{
    enum { RUN = 16 };
    takt_keyed *from = items, *to = spare;
    for (size_t i = 0; i < n; i += RUN)
        insertion(items + i, n - i < RUN ? n - i : RUN);
    for (size_t width = RUN; width < n; width *= 2) {
        for (size_t low = 0; low < n; low += 2 * width) {
            const size_t middle = n - low < width ? n : low + width;
            const size_t high = n - middle < width ? n : middle + width;
            merge(from + low, middle - low, from + middle, high - middle, to + low);
        }
        takt_keyed *const swap = from;
        from = to;
        to = swap;
    }
    if (from != items)
        memcpy(items, from, n * sizeof *items);
}

/* ---- the first few ---- */

/* Restores a heap whose root, the last in order, may be out of place. */
static void sink(takt_keyed *heap, size_t n, size_t at)
{
    const takt_keyed it = heap[at];
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= n)
            break;
        if (child + 1 < n && is_before(&heap[child], &heap[child + 1]))
            child++;
        if (!is_before(&it, &heap[child]))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = it;
}

static void heap_sort(takt_keyed *heap, size_t n)
{
    for (size_t end = n; end > 1; end--) {
        const takt_keyed last = heap[0];
        heap[0] = heap[end - 1];
        heap[end - 1] = last;
        sink(heap, end - 1, 0);
    }
}

void takt_order_select(takt_keyed *items, size_t n, size_t k)
{
    if (k == 0)
        return;
    for (size_t i = k / 2; i-- > 0;)
        sink(items, k, i);
    for (size_t i = k; i < n; i++)
        if (is_before(&items[i], &items[0])) {
            items[0] = items[i];
            sink(items, k, 0);
        }
    heap_sort(items, k);
}

void takt_order_by_place(takt_keyed *items, size_t n)
{
    for (size_t i = 0; i < n; i++)
        items[i].key = items[i].place;
    for (size_t i = n / 2; i-- > 0;)
        sink(items, n, i);
    heap_sort(items, n);
}
