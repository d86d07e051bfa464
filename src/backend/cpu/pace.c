/* pace.c - copies and conversions that can be stopped. */
#include "backend/cpu/pace.h"

#include <string.h>

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

bool takt_pace_pieces(takt_pace *p, void *to, size_t at, const void *from, size_t from_at, size_t n)
{
    for (size_t i = 0, piece; i < n; i += piece) {
        piece = least(n - i, TAKT_PACE);
        takt_copy_elements(p->bits, to, at + i, from, from_at + i, piece);
        if (takt_pace_stops(p, piece))
            return false;
    }
    return true;
}

void takt_pace_copy(const takt_task *t, void *to, const void *from, size_t bytes)
{
    enum { PIECE = 2 * TAKT_PACE };
    for (size_t i = 0; i < bytes && (i == 0 || !takt_poll_stops(t->poll)); i += PIECE)
        memcpy((char *)to + i, (const char *)from + i, least(bytes - i, PIECE));
}

void takt_pace_convert(const takt_task *t, takt_convert_fn *convert, const takt_convert *how,
                       void *to, const void *from, size_t count)
{
    const int to_bits = takt_dtype_bits(how->to), from_bits = takt_dtype_bits(how->from);
    for (size_t i = 0; i < count && (i == 0 || !takt_poll_stops(t->poll)); i += TAKT_PACE)
        convert(how, (char *)to + takt_element_bytes(to_bits, i),
                (const char *)from + takt_element_bytes(from_bits, i), least(count - i, TAKT_PACE));
}
