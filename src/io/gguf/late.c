/* late.c - reads a stack of tensors from its files, as often as it is asked to. */
#include "io/gguf/late.h"

#include <string.h>

#include "base/lock.h"
#include "base/mem.h"
#include "io/held_file.h"
#include "ir/late.h"

enum { LEAST = 1 << 10 /* bytes */, CHUNK = 1 << 13 /* blocks */ };

/* ---- stash ---- */

struct takt_gguf_stash {
    takt_ctx *ctx;
    atomic_uint references;
    takt_lock lock;
    uint8_t *at; /* NULL: there is nothing in it */
    size_t bytes;
};

takt_status takt_gguf_stash_create(takt_ctx *ctx, takt_gguf_stash **stash)
{
    void *block;
    *stash = NULL;
    TAKT_TRY(takt_mem_zero(ctx, 1, sizeof **stash, "weights", &block));
    *stash = block;
    (*stash)->ctx = ctx;
    atomic_init(&(*stash)->references, 1);
    return TAKT_OK;
}

void takt_gguf_stash_release(takt_gguf_stash *s)
{
    if (s == NULL || atomic_fetch_sub_explicit(&s->references, 1, memory_order_acq_rel) != 1)
        return;
    takt_ctx *ctx = s->ctx;
    takt_mem_put(ctx, s->at, s->bytes);
    takt_mem_put(ctx, s, sizeof *s);
}

/* Puts `at` in, or NULL, and returns what was there. */
static uint8_t *exchange(takt_gguf_stash *s, uint8_t *at, size_t bytes, size_t *had)
{
    takt_lock_take(&s->lock);
    uint8_t *was = s->at;
    *had = s->bytes;
    s->at = at;
    s->bytes = bytes;
    takt_lock_give(&s->lock);
    return was;
}

static bool take(takt_gguf_stash *s, void *to, size_t bytes)
{
    size_t had;
    uint8_t *at = exchange(s, NULL, 0, &had);
    const bool fits = at != NULL && had == bytes;
    if (fits)
        memcpy(to, at, bytes);
    takt_mem_put(s->ctx, at, had);
    return fits;
}

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
    size_t blocks; /* of all pieces */
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

/* Where the parts of the next blocks go; other NULL: nothing is stashed. */
typedef struct target {
    uint8_t *to, *other;
} target;

static takt_status read_piece(const pieces *p, const piece *from, uint8_t *chunk, target *t)
{
    const size_t size = from->type->bytes;
    for (size_t at = 0; at < from->bytes; at += CHUNK * size) {
        const size_t left = from->bytes - at, bytes = left < CHUNK * size ? left : CHUNK * size;
        const size_t count = bytes / size;
        TAKT_TRY(takt_file_part(p->ctx, from->file->path, from->file->file, from->offset + at,
                                chunk, bytes));
        p->part.part(from->type, chunk, count, t->to);
        t->to += count * p->part.width;
        if (t->other == NULL)
            continue;
        p->part.other(from->type, chunk, count, t->other);
        t->other += count * p->part.other_width;
    }
    return TAKT_OK;
}

static takt_status read_pieces(const pieces *p, uint8_t *chunk, target t)
{
    for (size_t i = 0; i < p->count; i++)
        TAKT_TRY(read_piece(p, &p->at[i], chunk, &t));
    return TAKT_OK;
}

static takt_status read_parts(const pieces *p, uint8_t *to)
{
    const size_t room = (size_t)CHUNK * p->at[0].type->bytes;
    size_t bytes = p->part.other != NULL ? p->blocks * p->part.other_width : 0;
    void *chunk, *other = NULL;
    if (p->part.stash != NULL && p->part.other == NULL &&
        take(p->part.stash, to, p->blocks * p->part.width))
        return TAKT_OK;
    TAKT_TRY(takt_mem_get(p->ctx, room, "blocks of weights", &chunk));
    takt_status status =
        bytes > 0 ? takt_mem_get(p->ctx, bytes, "scales of weights", &other) : TAKT_OK;
    if (status == TAKT_OK)
        status = read_pieces(p, chunk, (target){to, other});
    if (status == TAKT_OK && other != NULL)
        other = exchange(p->part.stash, other, bytes, &bytes);
    takt_mem_put(p->ctx, other, bytes);
    takt_mem_put(p->ctx, chunk, room);
    return status;
}

static takt_status read(void *user, void *to)
{
    const pieces *p = user;
    uint8_t *at = to;
    if (p->part.part != NULL)
        return read_parts(p, to);
    for (size_t i = 0; i < p->count; at += p->at[i++].bytes)
        TAKT_TRY(takt_file_part(p->ctx, p->at[i].file->path, p->at[i].file->file, p->at[i].offset,
                                at, p->at[i].bytes));
    return TAKT_OK;
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

static takt_status follow(void *user, void *to)
{
    const recipes *r = user;
    uint8_t *at = to;
    for (size_t i = 0; i < r->count; at += r->bytes[i++])
        TAKT_TRY(r->at[i].read(r->at[i].user, at));
    return TAKT_OK;
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
        *late = (takt_late){follow, put_recipes, r};
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
        p->blocks += t->bytes / t->type->bytes;
    }
    return TAKT_OK;
}

/* `part` is of tensors in GGUF files. */
static takt_status open_pieces(const takt_gguf_model *m, const takt_gguf_stack *s,
                               takt_gguf_part part, takt_late *late)
{
    void *block;
    TAKT_TRY(takt_mem_zero(m->ctx, 1, sizeof(pieces), "weights", &block));
    pieces *p = block;
    p->ctx = m->ctx;
    p->part = part;
    if (part.stash != NULL)
        atomic_fetch_add_explicit(&part.stash->references, 1, memory_order_relaxed);
    const takt_status status = hold(m, s, p);
    if (status == TAKT_OK)
        *late = (takt_late){read, put, p};
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
