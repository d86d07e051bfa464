/* datalog_sort.c - radix sort of tuples in ascending order, from the last column on. A column has
 * as few digits as its differing bits allow, all of one width: few positions are written at a
 * time. */
#include <string.h>

#include "op/util/datalog.h"

typedef struct digits {
    size_t column;
    int count, width; /* in bits */
} digits;

static bool stops(const takt_dl_rows *r, size_t row)
{
    enum { POLLED = 1 << 16 };
    return row % POLLED == 0 && row > 0 && takt_poll_stops(r->poll);
}

static digits digits_of(const takt_dl_rows *r, const uint32_t *rows, size_t column)
{
    uint32_t all = 0;
    for (size_t i = 1; i < r->count; i++)
        all |= rows[i * r->arity + column] ^ rows[column];
    const int bits = all == 0 ? 0 : 32 - __builtin_clz(all);
    const int count = (bits + TAKT_DL_DIGIT - 1) / TAKT_DL_DIGIT;
    return (digits){column, count, count == 0 ? 0 : (bits + count - 1) / count};
}

/* Counts rows by digit, one table after the other. */
static bool count_digits(const takt_dl_rows *r, const uint32_t *rows, const digits *d)
{
    const uint32_t mask = (UINT32_C(1) << d->width) - 1;
    memset(r->counts, 0, TAKT_DL_COUNTS * sizeof *r->counts);
    for (size_t i = 0; i < r->count; i++) {
        uint32_t value = rows[i * r->arity + d->column];
        if (stops(r, i))
            return false;
        for (int k = 0; k < d->count; k++, value >>= d->width)
            r->counts[(k << TAKT_DL_DIGIT) + (int)(value & mask)]++;
    }
    return true;
}

/* Moves rows to their places by one digit; stable. False: the poll stopped it. */
static bool move(const takt_dl_rows *r, const uint32_t *from, uint32_t *to, const digits *d, int k)
{
    const uint32_t mask = (UINT32_C(1) << d->width) - 1;
    uint32_t *const place = r->counts + (k << TAKT_DL_DIGIT), sum = 0;
    for (uint32_t i = 0; i <= mask; i++) {
        const uint32_t count = place[i];
        place[i] = sum;
        sum += count;
    }
    for (size_t i = 0; i < r->count; i++) {
        if (stops(r, i))
            return false;
        const uint32_t digit = from[i * r->arity + d->column] >> k * d->width & mask;
        uint32_t *at = to + (size_t)place[digit]++ * r->arity;
        if (r->arity == 2)
            memcpy(at, from + i * 2, 2 * sizeof *to); /* one move */
        else
            memcpy(at, from + i * r->arity, r->arity * sizeof *to);
    }
    return true;
}

bool takt_dl_sort_by(const takt_dl_rows *r, size_t first, size_t end)
{
    uint32_t *from = r->rows, *to = r->room;
    for (size_t column = end; column-- > first;) {
        const digits d = digits_of(r, from, column);
        if (d.count > 0 && !count_digits(r, from, &d))
            return false;
        for (int k = 0; k < d.count; k++) {
            uint32_t *const other = from;
            if (!move(r, from, to, &d, k))
                return false;
            from = to;
            to = other;
        }
    }
    if (from != r->rows && r->count > 0)
        memcpy(r->rows, from, r->count * r->arity * sizeof *from);
    return true;
}

bool takt_dl_sort(const takt_dl_rows *r)
{
    return takt_dl_sort_by(r, 0, r->arity);
}

bool takt_dl_ascends(const uint32_t *rows, size_t count, size_t arity)
{
    for (size_t i = 1; i < count; i++) {
        const uint32_t *before = rows + (i - 1) * arity, *now = rows + i * arity;
        size_t k = 0;
        while (k < arity && before[k] == now[k])
            k++;
        /* After an empty row there are only empty ones. */
        if (before[0] == TAKT_DL_ABSENT ? now[0] != TAKT_DL_ABSENT
                                        : k == arity || before[k] > now[k])
            return false;
    }
    return true;
}

size_t takt_dl_sort_unique(const takt_dl_rows *r)
{
    const size_t bytes = r->arity * sizeof *r->rows;
    size_t count = 0;
    if (!takt_dl_sort(r))
        return SIZE_MAX;
    for (size_t i = 0; i < r->count; i++) {
        const uint32_t *row = r->rows + i * r->arity;
        if (row[0] == TAKT_DL_ABSENT)
            break;
        if (count == 0 || memcmp(r->rows + (count - 1) * r->arity, row, bytes) != 0)
            memmove(r->rows + count++ * r->arity, row, bytes);
    }
    return count;
}
