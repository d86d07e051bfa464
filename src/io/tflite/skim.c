/* skim.c - finds the large buffers of a model in a file without reading them.
 *
 * Malformed data is left to the reader of the model, which then sees all bytes.
 */
#include "io/skim.h"

#include "base/mem.h"
#include "io/file.h"
#include "io/tflite/import.h"

enum { MOST = 1 << 16 /* buffers that are examined */, ROOM = 1 << 12 /* large ones */ };

typedef struct looking {
    takt_skim *s;
    takt_gap *found; /* by position */
    size_t count;
    takt_status status; /* of reading */
    bool is_odd;        /* then everything is read */
} looking;

/* The number of `bytes` bytes at an offset; 0 beyond the file. */
static uint64_t number(looking *l, uint64_t at, size_t bytes)
{
    uint8_t raw[8];
    uint64_t value = 0;
    if (l->is_odd || at > l->s->length || bytes > l->s->length - at) {
        l->is_odd = true;
        return 0;
    }
    l->status = takt_file_part(l->s->ctx, l->s->path, l->s->file, at, raw, bytes);
    l->is_odd = l->status != TAKT_OK;
    for (size_t i = 0; !l->is_odd && i < bytes; i++)
        value |= (uint64_t)raw[i] << 8 * i;
    return value;
}

/* The position of a field of the table; 0: absent. */
static uint64_t field(looking *l, uint64_t table, int index)
{
    const int64_t layout = (int64_t)table - (int32_t)(uint32_t)number(l, table, 4);
    const uint64_t entry = 4 + 2 * (uint64_t)index;
    if (l->is_odd || layout < 0 || number(l, (uint64_t)layout, 2) < entry + 2)
        return 0;
    const uint64_t offset = number(l, (uint64_t)layout + entry, 2);
    return offset != 0 ? table + offset : 0;
}

static uint64_t follow(looking *l, uint64_t at)
{
    return at == 0 ? 0 : at + number(l, at, 4);
}

static void keep(looking *l, uint64_t first, uint64_t count)
{
    if (l->is_odd || count < l->s->least || first > l->s->length || count > l->s->length - first)
        return;
    if (l->count == ROOM) {
        l->is_odd = true;
        return;
    }
    size_t at = l->count++;
    for (; at > 0 && l->found[at - 1].first > first; at--)
        l->found[at] = l->found[at - 1];
    l->found[at] = (takt_gap){(size_t)first, (size_t)(first + count)};
}

static void look_at(looking *l, uint64_t table)
{
    enum { DATA, OFFSET, SIZE };
    const uint64_t behind = field(l, table, OFFSET), size = field(l, table, SIZE);
    const uint64_t at = behind != 0 ? number(l, behind, 8) : 0;
    if (at > 1) {
        keep(l, at, size != 0 ? number(l, size, 8) : 0);
        return;
    }
    const uint64_t list = follow(l, field(l, table, DATA));
    if (list != 0)
        keep(l, list + 4, number(l, list, 4));
}

static void look(looking *l)
{
    enum { BUFFERS = 4 };
    const uint64_t root = number(l, 0, 4), list = follow(l, field(l, root, BUFFERS));
    const uint64_t count = list != 0 ? number(l, list, 4) : 0;
    l->is_odd = l->is_odd || count > MOST;
    for (uint64_t i = 0; i < count && !l->is_odd; i++)
        look_at(l, follow(l, list + 4 + 4 * i));
}

takt_status takt_tfl_skim(takt_skim *s)
{
    void *block;
    if (s->length <= s->least)
        return takt_skim_need(s, s->length);
    TAKT_TRY(takt_mem_get(s->ctx, ROOM * sizeof(takt_gap), "parts of a file", &block));
    looking l = {.s = s, .found = block};
    look(&l);
    for (size_t i = 0; i < l.count && !l.is_odd && l.status == TAKT_OK; i++)
        l.status = takt_skim_leave(s, l.found[i].first, l.found[i].end);
    takt_mem_put(s->ctx, block, ROOM * sizeof(takt_gap));
    return l.status == TAKT_OK ? takt_skim_need(s, s->length) : l.status;
}
