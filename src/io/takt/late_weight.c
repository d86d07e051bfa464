/* late_weight.c - a weight is read once for its checksum, in pieces, and again when it is packed. A
 * file that has changed in between is noticed (io/held_file.h). */
#include "io/takt/late_weight.h"

#include <string.h>

#include "base/crc32c.h"
#include "base/mem.h"
#include "io/held_file.h"
#include "ir/late.h"

enum { LEAST = 1 << 10, PIECE = 256 << 10 /* bytes */ };

typedef struct place {
    takt_held_file *file;
    uint64_t offset;
} place;

static takt_status read(void *user, size_t first, size_t count, void *to)
{
    const place *p = user;
    return takt_held_file_read(p->file, p->offset + first, to, count);
}

static void put(void *user)
{
    place *p = user;
    takt_ctx *ctx = p->file->ctx;
    takt_held_file_release(p->file);
    takt_mem_put(ctx, p, sizeof *p);
}

bool takt_taktp_is_late(const takt_source *s, const takt_type *type)
{
    size_t bytes;
    return s->skim != NULL && s->sizes != NULL && strcmp(s->sizes, "weights=late") == 0 &&
           type->dtype != TAKT_BOOL && takt_type_bytes(type, &bytes) && bytes >= LEAST;
}

static takt_status sum(const takt_source *s, const uint8_t *from, size_t bytes, uint32_t *crc)
{
    void *piece;
    takt_status status = TAKT_OK;
    const size_t room = bytes < PIECE ? bytes : PIECE;
    *crc = 0;
    TAKT_TRY(takt_mem_get(s->ctx, room, "part of a weight", &piece));
    for (size_t at = 0, n; status == TAKT_OK && at < bytes; at += n) {
        n = bytes - at < room ? bytes - at : room;
        status = takt_source_copy(s, from + at, piece, n);
        if (status == TAKT_OK)
            *crc = takt_crc32c(*crc, piece, n);
    }
    takt_mem_put(s->ctx, piece, room);
    return status;
}

/* The skim is not changed but for the count of who holds its file. */
static takt_status open_place(const takt_source *s, const uint8_t *from, takt_late *late)
{
    void *block;
    TAKT_TRY(takt_mem_zero(s->ctx, 1, sizeof(place), "weights", &block));
    place *p = block;
    const takt_status status = takt_skim_hold(s->skim, &p->file);
    if (status != TAKT_OK) {
        takt_mem_put(s->ctx, p, sizeof *p);
        return status;
    }
    p->offset = (uint64_t)(from - s->bytes);
    *late = (takt_late){.read = read, .done = put, .user = p, .grain = 1};
    return TAKT_OK;
}

takt_status takt_taktp_late(const takt_source *s, const takt_type *type, const uint8_t *from,
                            takt_tensor *tensor, uint32_t *crc)
{
    size_t bytes;
    takt_late late;
    *tensor = (takt_tensor){.type = *type};
    if (!takt_type_bytes(type, &bytes))
        return takt_fail(s->ctx, TAKT_E_OVERFLOW, "%s: a weight is too large", s->name);
    TAKT_TRY(sum(s, from, bytes, crc));
    TAKT_TRY(open_place(s, from, &late));
    const takt_status status = takt_storage_create_late(s->ctx, bytes, &late, &tensor->storage);
    if (status != TAKT_OK)
        late.done(late.user);
    return status;
}
