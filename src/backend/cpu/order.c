/* order.c - keys, a merge sort, and a selection that keeps the first few. */
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

/* Items between two polls; each is moved several times. */
enum { POLLED = 1 << 15 };

static bool stops(const takt_poll *poll, size_t i)
{
    return i % POLLED == 0 && i > 0 && takt_poll_stops(poll);
}

static takt_keyed item_of(const takt_order_line *l, size_t i)
{
    uint64_t key;
    if (l->dtype == TAKT_F32) /* the common case */
        key = key_of_double((double)((const float *)l->data)[i * l->stride]);
    else
        key = key_of(l->dtype, l->data, i * l->stride);
    return (takt_keyed){l->descending ? ~key : key, i};
}

bool takt_order_keys(const takt_order_line *l, takt_keyed *to, const takt_poll *poll)
{
    for (size_t i = 0; i < l->n; i++) {
        to[i] = item_of(l, i);
        if (stops(poll, i))
            return false;
    }
    return true;
}

/* ---- sorting ---- */

static bool is_before(const takt_keyed *a, const takt_keyed *b)
{
    return (a->key < b->key) | ((a->key == b->key) & (a->place < b->place)); /* no branch */
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

static bool merge(const takt_keyed *a, size_t na, const takt_keyed *b, size_t nb, takt_keyed *to,
                  const takt_poll *poll)
{
    while (na > 0 && nb > 0) {
        if (stops(poll, na + nb))
            return false;
        if (b->key < a->key) { /* of equals the left one: stable */
            *to++ = *b++;
            nb--;
        } else {
            *to++ = *a++;
            na--;
        }
    }
    memcpy(to, a, na * sizeof *a);
    memcpy(to + na, b, nb * sizeof *b);
    return true;
}

bool takt_order_sort(takt_keyed *items, takt_keyed *spare, size_t n, const takt_poll *poll)
{
    enum { RUN = 16 };
    takt_keyed *from = items, *to = spare;
    for (size_t i = 0; i < n; i += RUN) {
        if (stops(poll, i))
            return false;
        insertion(items + i, n - i < RUN ? n - i : RUN);
    }
    for (size_t width = RUN; width < n; width *= 2) {
        for (size_t low = 0; low < n; low += 2 * width) {
            const size_t middle = n - low < width ? n : low + width;
            const size_t high = n - middle < width ? n : middle + width;
            if (stops(poll, low) ||
                !merge(from + low, middle - low, from + middle, high - middle, to + low, poll))
                return false;
        }
        takt_keyed *const swap = from;
        from = to;
        to = swap;
    }
    if (from != items)
        memcpy(items, from, n * sizeof *items);
    return true;
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
        if (child + 1 < n)
            child += is_before(&heap[child], &heap[child + 1]);
        if (!is_before(&it, &heap[child]))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = it;
}

static bool heap_make(takt_keyed *heap, size_t n, const takt_poll *poll)
{
    for (size_t i = n / 2; i-- > 0;) {
        if (stops(poll, i))
            return false;
        sink(heap, n, i);
    }
    return true;
}

static bool heap_sort(takt_keyed *heap, size_t n, const takt_poll *poll)
{
    for (size_t end = n; end > 1; end--) {
        if (end % (POLLED / 4) == 0 && takt_poll_stops(poll)) /* each is many moves */
            return false;
        const takt_keyed last = heap[0];
        heap[0] = heap[end - 1];
        heap[end - 1] = last;
        sink(heap, end - 1, 0);
    }
    return true;
}

/* Whether one of BLOCK floats may come before `last`, which a NaN in either place does not deny. */
enum { BLOCK = 16 };
static bool may_enter(const float *x, float last, bool descending)
{
    int count = 0;
    if (descending)
        for (int i = 0; i < BLOCK; i++)
            count |= !(x[i] <= last);
    else
        for (int i = 0; i < BLOCK; i++)
            count |= !(x[i] >= last);
    return count != 0;
}

/* The items before a pivot first, without a branch for each, and then the pivot, at `*at`. */
static bool split(takt_keyed *items, size_t n, size_t *at, const takt_poll *poll)
{
    const takt_keyed *a = &items[0], *b = &items[n / 2], *c = &items[n - 1];
    const takt_keyed *low = is_before(a, b) ? a : b, *high = is_before(a, b) ? b : a;
    const takt_keyed *middle = is_before(c, low) ? low : is_before(high, c) ? high : c;
    const takt_keyed pivot = *middle;
    items[middle - items] = items[n - 1];
    *at = 0;
    for (size_t i = 0; i + 1 < n; i++) {
        const takt_keyed it = items[i];
        items[i] = items[*at];
        items[*at] = it;
        *at += is_before(&it, &pivot);
        if (stops(poll, i))
            return false;
    }
    items[n - 1] = items[*at];
    items[*at] = pivot;
    return true;
}

/* The first `k` of `n` items become a heap; its root goes to their end. */
static bool heap_keep(takt_keyed *items, size_t n, size_t k, const takt_poll *poll)
{
    if (!heap_make(items, k, poll))
        return false;
    for (size_t i = k; i <= n; i++) {
        const size_t from = i < n ? i : k - 1;
        const takt_keyed it = items[from];
        if (i < n && !is_before(&it, &items[0]))
            continue;
        items[from] = items[0];
        items[0] = it;
        if (i < n)
            sink(items, k, 0);
        if (i % (POLLED / 4) == 0 && takt_poll_stops(poll))
            return false;
    }
    return true;
}

/* Moves the first `k` of `n` items to the front, the last of them to items[k - 1]. */
static bool keep(takt_keyed *items, size_t n, size_t k, const takt_poll *poll)
{
    enum { ROUNDS = 12 }; /* then few items are left, or pivots are bad ones */
    size_t low = 0, high = n, at;
    for (int i = 0; i < ROUNDS && high - low > 1; i++) {
        if (!split(items + low, high - low, &at, poll))
            return false;
        at += low;
        if (at == k - 1)
            return true;
        low = at < k - 1 ? at + 1 : low;
        high = at < k - 1 ? high : at;
    }
    return high - low <= 1 || heap_keep(items + low, high - low, k - low, poll);
}

size_t takt_order_room(size_t n, size_t k)
{
    enum { MORE = 64 };
    return k < n / 2 && k + MORE < n - k ? 2 * k + MORE : n;
}

/* Appends those of BLOCK floats from `at` on that may come before `last`; returns how many items
 * there are. No branch for each, and no key before it is known which are taken. */
static size_t collect_floats(const takt_order_line *l, takt_keyed *items, float last, size_t at,
                             size_t count)
{
    const float *x = l->data;
    const size_t first = count;
    for (size_t i = at; i < at + BLOCK; i++) {
        items[count].place = i;
        count += l->descending ? !(x[i] <= last) : !(x[i] >= last);
    }
    for (size_t i = first; i < count; i++)
        items[i] = item_of(l, items[i].place);
    return count;
}

/* The same for elements [at, end) of any type that come before items[k - 1]. */
static size_t collect(const takt_order_line *l, takt_keyed *items, size_t k, const size_t range[2],
                      size_t count)
{
    for (size_t i = range[0]; i < range[1]; i++) {
        items[count] = item_of(l, i);
        count += is_before(&items[count], &items[k - 1]);
    }
    return count;
}

bool takt_order_select(const takt_order_line *l, takt_keyed *items, size_t k, const takt_poll *poll)
{
    const float *x = l->dtype == TAKT_F32 && l->stride == 1 ? l->data : NULL;
    const size_t room = takt_order_room(l->n, k);
    takt_order_line first = *l;
    first.n = room;
    if (k == 0)
        return true;
    if (!takt_order_keys(&first, items, poll) || !keep(items, room, k, poll))
        return false;
    size_t count = k;
    for (size_t i = room, n; i < l->n; i += n) {
        n = l->n - i < BLOCK ? l->n - i : BLOCK;
        if (i % POLLED < BLOCK && takt_poll_stops(poll))
            return false;
        const float last = x != NULL ? x[items[k - 1].place] : 0;
        if (x == NULL || n < BLOCK)
            count = collect(l, items, k, (const size_t[]){i, i + n}, count);
        else if (may_enter(x + i, last, l->descending))
            count = collect_floats(l, items, last, i, count);
        if (count + BLOCK <= room)
            continue;
        if (!keep(items, count, k, poll))
            return false;
        count = k;
    }
    return keep(items, count, k, poll) && heap_make(items, k, poll) && heap_sort(items, k, poll);
}

bool takt_order_by_place(takt_keyed *items, size_t n, const takt_poll *poll)
{
    for (size_t i = 0; i < n; i++)
        items[i].key = items[i].place;
    return heap_make(items, n, poll) && heap_sort(items, n, poll);
}
