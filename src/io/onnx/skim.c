/* skim.c - finds the large weights of a model in a file without reading them.
 *
 * They are the raw_data of initializers: field 9 of field 5 of field 7. Malformed data is left to
 * the reader of the model, which sees all bytes from there on.
 */
#include "io/skim.h"
#include "base/cursor.h"
#include "io/onnx/payload.h"

enum { DEPTH = 2 };
static const uint32_t path[DEPTH + 1] = {7, 5, 9}; /* graph, initializer, raw_data */

/* The head of the field at `at` of a message that ends at `end`. */
typedef struct head {
    uint32_t number;
    takt_wire wire;
    size_t first, end; /* of the bytes after the head */
} head;

static bool read_head(const takt_skim *s, size_t at, size_t end, head *h)
{
    takt_cursor c = takt_cursor_of(s->bytes + at, end - at, at);
    const uint64_t tag = takt_cursor_varint(&c);
    *h = (head){.number = tag >> 3 < UINT32_MAX ? (uint32_t)(tag >> 3) : 0,
                .wire = (takt_wire)(tag & 7)};
    uint64_t length = h->wire == TAKT_WIRE_64 ? 8 : h->wire == TAKT_WIRE_32 ? 4 : 0;
    if (h->wire == TAKT_WIRE_VARINT)
        takt_cursor_varint(&c);
    else if (h->wire == TAKT_WIRE_BYTES)
        length = takt_cursor_varint(&c);
    else if (length == 0)
        return false;
    if (c.failed || h->number == 0 || length > takt_cursor_left(&c))
        return false;
    h->first = (size_t)takt_cursor_offset(&c);
    h->end = h->first + (size_t)length;
    return true;
}

takt_status takt_onnx_skim(takt_skim *s)
{
    enum { HEAD_MOST = 20 };
    size_t ends[DEPTH + 1] = {s->length}, at = 0;
    int depth = 0;
    for (;;) {
        while (depth > 0 && at == ends[depth])
            depth--;
        head h;
        const size_t end = ends[depth];
        if (at == end)
            return takt_skim_need(s, s->length);
        TAKT_TRY(takt_skim_need(s, end - at < HEAD_MOST ? end : at + HEAD_MOST));
        if (!read_head(s, at, end, &h))
            return takt_skim_need(s, s->length);
        const bool is_ours = h.wire == TAKT_WIRE_BYTES && h.number == path[depth];
        if (is_ours && depth < DEPTH) {
            ends[++depth] = h.end;
            at = h.first;
            continue;
        }
        if (is_ours)
            TAKT_TRY(takt_skim_leave(s, h.first, h.end));
        at = h.end;
    }
}
