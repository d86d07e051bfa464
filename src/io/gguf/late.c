/* late.c - reads a stack of tensors from its files, as often as it is asked to. */
#include "io/gguf/late.h"

#include <string.h>

#include "base/mem.h"
#include "io/held_file.h"
#include "ir/late.h"

enum { LEAST = 1 << 10 /* bytes */, CHUNK = 4 * TAKT_GGUF_CHUNK /* blocks */ };

/* ---- pieces ---- */

typedef struct piece {
    takt_held_file *file;
    const takt_gguf_type *type;
    uint64_t offset;
    size_t bytes;
} piece;

typedef struct pieces {
    takt_ctx *ctx;
    takt_gguf_part part;
    size_t count;
    piece at[TAKT_GGUF_STACK];
} pieces;

static void put(void *user)
{
    pieces *p = user;
    for (size_t i = 0; i < p->count; i++)
        takt_held_file_release(p->at[i].file);
    takt_gguf_stash_release(p->part.stash);
    takt_mem_put(p->ctx, p, sizeof *p);
}

/* Bytes [first, first + count) of the stack. */
static takt_status read_bytes(const pieces *p, size_t first, size_t count, uint8_t *to)
{
    for (size_t i = 0, n; count > 0; first -= p->at[i++].bytes) {
        const piece *from = &p->at[i];
        if (first >= from->bytes)
            continue;
        n = from->bytes - first < count ? from->bytes - first : count;
        TAKT_TRY(takt_held_file_read(from->file, from->offset + first, to, n));
        to += n;
        first += n;
        count -= n;
    }
    return TAKT_OK;
}

/* Parts of `count` blocks from block `first` on; other NULL: nothing is stashed. */
static takt_status read_blocks(const pieces *p, size_t first, size_t count, uint8_t *to,
                               uint8_t *other)
{
    const takt_gguf_type *type = p->at[0].type;
    const takt_gguf_part *part = &p->part;
    const size_t room = (count < CHUNK ? count : CHUNK) * type->bytes;
    takt_status status = TAKT_OK;
    void *chunk;
    TAKT_TRY(takt_mem_get(p->ctx, room, "blocks of weights", &chunk));
    for (size_t at = 0, n; status == TAKT_OK && at < count; at += n) {
        n = count - at < CHUNK ? count - at : CHUNK;
        status = read_bytes(p, (first + at) * type->bytes, n * type->bytes, chunk);
        if (status != TAKT_OK)
            break;
        part->part(type, chunk, n, to + at * part->width);
        if (other != NULL)
            part->other(type, chunk, n, other + (first + at) * part->other_width);
    }
    takt_mem_put(p->ctx, chunk, room);
    return status;
}

static takt_status read(void *user, size_t first, size_t count, void *to)
{
    const pieces *p = user;
    const takt_gguf_part *part = &p->part;
    if (part->part == NULL)
        return read_bytes(p, first, count, to);
    if (part->stash != NULL && part->other == NULL && takt_gguf_stash_take(part->stash, to))
        return TAKT_OK;
    const size_t begin = first / part->width, blocks = count / part->width;
    uint8_t *other = part->other != NULL ? takt_gguf_stash_open(part->stash) : NULL;
    const takt_status status = read_blocks(p, begin, blocks, to, other);
    if (other != NULL)
        takt_gguf_stash_close(part->stash, begin, status == TAKT_OK ? begin + blocks : begin);
    return status;
}

/* ---- recipes ---- */

typedef struct recipes {
    takt_ctx *ctx;
    size_t count;
    takt_late at[TAKT_GGUF_STACK];
    size_t bytes[TAKT_GGUF_STACK];
} recipes;

static void put_recipes(void *user)
{
    recipes *r = user;
    for (size_t i = 0; i < r->count; i++)
        r->at[i].done(r->at[i].user);
    takt_mem_put(r->ctx, r, sizeof *r);
}

static takt_status follow(void *user, size_t first, size_t count, void *to)
{
    const recipes *r = user;
    uint8_t *out = to;
    for (size_t i = 0, n; count > 0; first -= r->bytes[i++]) {
        if (first >= r->bytes[i])
            continue;
        n = r->bytes[i] - first < count ? r->bytes[i] - first : count;
        TAKT_TRY(r->at[i].read(r->at[i].user, first, n, out));
        out += n;
        first += n;
        count -= n;
    }
    return TAKT_OK;
}

/* The greatest of all grains, if tensors begin and parts of them end at its multiples. */
static size_t grain_of(const recipes *r)
{
    size_t grain = r->at[0].grain;
    for (size_t i = 1; i < r->count; i++)
        grain = r->at[i].grain > grain ? r->at[i].grain : grain;
    for (size_t i = 0; i < r->count; i++)
        if (r->at[i].grain == 0 || grain % r->at[i].grain != 0 || r->bytes[i] % grain != 0)
            return 0;
    return grain;
}

static takt_status collect(const takt_gguf_model *m, const takt_gguf_stack *s, takt_late *late)
{
    void *block;
    TAKT_TRY(takt_mem_zero(m->ctx, 1, sizeof(recipes), "weights", &block));
    recipes *r = block;
    takt_status status = TAKT_OK;
    r->ctx = m->ctx;
    for (size_t i = 0; status == TAKT_OK && i < s->count; i++) {
        r->bytes[i] = s->at[i]->bytes;
        status = m->recipe(m->user, s->at[i], &r->at[i]);
        r->count += status == TAKT_OK;
    }
    if (status == TAKT_OK)
        *late = (takt_late){follow, put_recipes, r, grain_of(r)};
    else
        put_recipes(r);
    return status;
}

/* ---- tensors ---- */

/* Whether all tensors are in files that can be read again. */
static bool is_in_files(const takt_gguf_model *m, const takt_gguf_stack *s)
{
    for (size_t i = 0; i < s->count; i++)
        if (m->recipe == NULL && takt_gguf_home(m, s->at[i])->skim == NULL)
            return false;
    return m->reads_late;
}

static takt_status hold(const takt_gguf_model *m, const takt_gguf_stack *s, pieces *p)
{
    for (size_t i = 0; i < s->count; i++) {
        const takt_gguf_tensor *t = s->at[i];
        takt_held_file *file;
        TAKT_TRY(takt_skim_hold(takt_gguf_home(m, t)->skim, &file));
        p->at[p->count++] = (piece){file, t->type, t->offset, t->bytes};
    }
    return TAKT_OK;
}

/* `part` is of tensors in GGUF files. */
static takt_status open_pieces(const takt_gguf_model *m, const takt_gguf_stack *s,
                               takt_gguf_part part, takt_late *late)
{
    const size_t grain = part.part == NULL    ? 1
                         : part.other != NULL ? TAKT_GGUF_CHUNK * part.width
                                              : 0;
    void *block;
    TAKT_TRY(takt_mem_zero(m->ctx, 1, sizeof(pieces), "weights", &block));
    pieces *p = block;
    p->ctx = m->ctx;
    p->part = part;
    p->part.stash = takt_gguf_stash_retain(part.stash);
    const takt_status status = hold(m, s, p);
    if (status == TAKT_OK)
        *late = (takt_late){read, put, p, grain};
    else
        put(p);
    return status;
}

takt_status takt_gguf_late(const takt_gguf_model *m, const takt_gguf_stack *s,
                           const takt_type *type, takt_gguf_part part, takt_tensor *tensor)
{
    size_t bytes;
    takt_late late;
    *tensor = (takt_tensor){.type = *type};
    if (!is_in_files(m, s) || !takt_type_bytes(type, &bytes) || bytes < LEAST ||
        bytes > m->ctx->limits.tensor_bytes)
        return TAKT_OK;
    TAKT_TRY(m->recipe != NULL ? collect(m, s, &late) : open_pieces(m, s, part, &late));
    const takt_status status = takt_storage_create_late(m->ctx, bytes, &late, &tensor->storage);
    if (status != TAKT_OK)
        late.done(late.user);
    return status;
}
