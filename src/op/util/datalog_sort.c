/* datalog_sort.c - radix sort of tuples in ascending order, from the last column on. A column has
 * as few digits as its differing bits allow, all of one width: few positions are written at a
 * time. */
#include <string.h>

#include "op/util/datalog.h"

typedef struct digits {
    size_t column;
    int count, width; /* in bits */
} digits;

#define INLINE static inline __attribute__((always_inline))

/* Rows between two polls. */
enum { POLLED = 1 << 16 };

static bool stops(const takt_dl_rows *r, size_t row)
{
    return row > 0 && takt_poll_stops(r->poll);
}

static size_t block_end(const takt_dl_rows *r, size_t row)
{
    return r->count - row < POLLED ? r->count : row + POLLED;
}

/* Loops over rows know their arity: pairs are by far the most common. */
INLINE uint32_t differing(const uint32_t *rows, size_t count, size_t column, const size_t arity)
{
    uint32_t all = 0;
    for (size_t i = 1; i < count; i++)
        all |= rows[i * arity + column] ^ rows[column];
    return all;
}

static digits digits_of(const takt_dl_rows *r, const uint32_t *rows, size_t column)
{
    const uint32_t all = r->arity == 2 ? differing(rows, r->count, column, 2)
                                       : differing(rows, r->count, column, r->arity);
    const int bits = all == 0 ? 0 : 32 - __builtin_clz(all);
    const int count = (bits + TAKT_DL_DIGIT - 1) / TAKT_DL_DIGIT;
    return (digits){column, count, count == 0 ? 0 : (bits + count - 1) / count};
}

INLINE void count_rows(const uint32_t *value, size_t rows, uint32_t *counts, const digits *d,
                       const size_t arity)
{
    const int count = d->count, width = d->width;
    const uint32_t mask = (UINT32_C(1) << width) - 1;
    for (size_t i = 0; i < rows; i++) {
        const uint32_t x = value[i * arity];
        counts[x & mask]++;
        if (count > 1)
            counts[(1 << TAKT_DL_DIGIT) + (x >> width & mask)]++;
        if (count > 2)
            counts[(2 << TAKT_DL_DIGIT) + (x >> 2 * width & mask)]++;
    }
}

/* Counts rows by digit, one table after the other. */
static bool count_digits(const takt_dl_rows *r, const uint32_t *rows, const digits *d)
{
    for (int k = 0; k < d->count; k++)
        memset(r->counts + (k << TAKT_DL_DIGIT), 0, sizeof *r->counts << d->width);
    for (size_t i = 0, end; i < r->count; i = end) {
        end = block_end(r, i);
        if (stops(r, i))
            return false;
        if (r->arity == 2)
            count_rows(rows + 2 * i + d->column, end - i, r->counts, d, 2);
        else
            count_rows(rows + i * r->arity + d->column, end - i, r->counts, d, r->arity);
    }
    return true;
}

/* A digit of a column. */
typedef struct digit {
    size_t column;
    int shift;
    uint32_t mask, *place; /* destination of the next row with each value */
} digit;

INLINE void move_rows(const uint32_t *from, size_t rows, uint32_t *to, const digit *d,
                      const size_t arity)
{
    const uint32_t mask = d->mask, *const value = from + d->column;
    const int shift = d->shift;
    uint32_t *const place = d->place;
    for (size_t i = 0; i < rows; i++) {
        const uint32_t which = value[i * arity] >> shift & mask;
        memcpy(to + (size_t)place[which]++ * arity, from + i * arity, arity * sizeof *to);
    }
}

/* Moves rows to their sorted positions by one digit; stable. False: the poll stopped it. */
static bool move(const takt_dl_rows *r, const uint32_t *from, uint32_t *to, const digits *d, int k)
{
    const digit one = {d->column, k * d->width, (UINT32_C(1) << d->width) - 1,
                       r->counts + (k << TAKT_DL_DIGIT)};
    uint32_t sum = 0;
    for (uint32_t i = 0; i <= one.mask; i++) {
        const uint32_t count = one.place[i];
        one.place[i] = sum;
        sum += count;
    }
    for (size_t i = 0, end; i < r->count; i = end) {
        end = block_end(r, i);
        if (stops(r, i))
            return false;
        if (r->arity == 2)
            move_rows(from + 2 * i, end - i, to, &one, 2);
        else
            move_rows(from + i * r->arity, end - i, to, &one, r->arity);
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
        /* All rows after an empty one are empty. */
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
        if (i % POLLED == 0 && stops(r, i))
            return SIZE_MAX;
        if (row[0] == TAKT_DL_ABSENT)
            break;
        if (count == 0 || memcmp(r->rows + (count - 1) * r->arity, row, bytes) != 0)
            memmove(r->rows + count++ * r->arity, row, bytes);
    }
    return count;
}
