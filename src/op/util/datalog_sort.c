/* datalog_sort.c - tuples in ascending order, by digits of 16 bits from the last column on. */
#include <string.h>

#include "op/util/datalog.h"

static bool stops(const takt_dl_rows *r, size_t row)
{
    enum { POLLED = 1 << 16 };
    return row % POLLED == 0 && row > 0 && takt_poll_stops(r->poll);
}

/* By one half of a column; stable. False: the poll said so. */
static bool by_half(const takt_dl_rows *r, const uint32_t *from, uint32_t *to, size_t column,
                    int shift)
{
    memset(r->counts, 0, TAKT_DL_COUNTS * sizeof *r->counts);
    for (size_t i = 0; i < r->count; i++) {
        if (stops(r, i))
            return false;
        r->counts[(from[i * r->arity + column] >> shift & 0xffff) + 1]++;
    }
    for (size_t i = 0; i + 1 < TAKT_DL_COUNTS; i++)
        r->counts[i + 1] += r->counts[i];
    for (size_t i = 0; i < r->count; i++) {
        if (stops(r, i))
            return false;
        const uint32_t digit = from[i * r->arity + column] >> shift & 0xffff;
        uint32_t *place = to + r->counts[digit]++ * r->arity;
        if (r->arity == 2)
            memcpy(place, from + i * 2, 2 * sizeof *to); /* one move */
        else
            memcpy(place, from + i * r->arity, r->arity * sizeof *to);
    }
    return true;
}

bool takt_dl_sort(const takt_dl_rows *r)
{
    uint32_t *from = r->rows, *to = r->room;
    for (size_t column = r->arity; column-- > 0;)
        for (int shift = 0; shift <= 16; shift += 16) {
            uint32_t all = 0;
            for (size_t i = 0; i < r->count; i++)
                all |= from[i * r->arity + column] >> shift & 0xffff;
            if (all == 0)
                continue; /* no digit differs from 0 */
            uint32_t *const other = from;
            if (!by_half(r, from, to, column, shift))
                return false;
            from = to;
            to = other;
        }
    if (from != r->rows && r->count > 0)
        memcpy(r->rows, from, r->count * r->arity * sizeof *from);
    return true;
}
