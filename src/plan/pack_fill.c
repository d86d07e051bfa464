/* pack_fill.c - packs a constant by all threads of the plan, if that pays off.
 *
 * Weights that are in a file alone are read where they are packed: each part by the thread that
 * packs it, into memory that stays in its cache. So neither all weights nor a large one are ever in
 * memory twice. Where parts need the whole constant, it is read into memory that the next one
 * reuses. A large constant that is in memory and read for the last time is given back to the
 * system part by part. */
#include "plan/pack_fill.h"

#include <stdint.h>

#include "base/mem.h"
#include "ir/late.h"
#include "ir/storage.h"
#include "os/memory.h"

enum {
    LEAST = 1 << 18,   /* bytes of a form that several threads pack */
    EACH = 4,          /* its parts for a thread */
    PIECE = 512 << 10, /* bytes that are read at once */
    LINE = 64,
    GIVEN = 8 << 20, /* bytes of a part that is given back */
};

typedef struct shared {
    const takt_pack_work *work;
    const char *from; /* NULL: parts are read from the storage */
    size_t count;
    char *rooms; /* of the threads */
    size_t room, grain;
    size_t walkers;             /* if not 0, bytes at `from` are given back, by this many threads */
    _Atomic takt_status status; /* of a part that failed */
} shared;

/* What a part reads; `span` are bytes of the constant. Returns how many lie before it. */
static size_t widen(const shared *s, size_t span[2])
{
    const size_t bytes = takt_storage_bytes(s->work->tensor->storage);
    const size_t at = s->work->tensor->offset + s->work->offset, begin = at + span[0];
    span[0] = begin / s->grain * s->grain;
    span[1] = (at + span[1] + s->grain - 1) / s->grain * s->grain;
    span[1] = span[1] < bytes ? span[1] : bytes;
    return begin - span[0];
}

static takt_status fill_span(const shared *s, size_t index, int thread)
{
    const takt_pack_work *w = s->work;
    size_t span[2];
    w->name->span(w->user, index, s->count, span);
    if (span[0] >= span[1])
        return TAKT_OK;
    if (s->from != NULL) {
        const char *from = s->from + span[0];
        const takt_status status = w->name->part(w->user, from, w->to, index, s->count);
        if (s->walkers > 0)
            (void)takt_pages_drop((void *)(uintptr_t)from, span[1] - span[0]);
        return status;
    }
    char *room = s->rooms + (size_t)thread * s->room;
    const size_t before = widen(s, span);
    TAKT_TRY(takt_storage_copy_part(w->tensor->storage, span[0], span[1] - span[0], room));
    return w->name->part(w->user, room + before, w->to, index, s->count);
}

/* Threads begin at parts that are far apart. Here they walk through the constant together: parts of
 * it are in the same huge pages of the form, which are in memory as soon as one part is written. */
static size_t in_step(const shared *s, size_t index)
{
    const size_t each = s->count / s->walkers;
    return index % each * s->walkers + index / each;
}

static void fill_one(void *user, size_t index, int thread)
{
    shared *s = user;
    const takt_pack_work *w = s->work;
    index = s->walkers > 0 ? in_step(s, index) : index;
    if (atomic_load_explicit(&s->status, memory_order_relaxed) != TAKT_OK)
        return;
    const takt_status status = w->name->span != NULL
                                   ? fill_span(s, index, thread)
                                   : w->name->part(w->user, s->from, w->to, index, s->count);
    if (status != TAKT_OK)
        atomic_store(&s->status, status);
}

static takt_status share(takt_builder *b, shared *s)
{
    const int threads = b->p.plan->threads;
    if (b->pool == NULL && threads > 1)
        TAKT_TRY(takt_pool_create(b->p.ctx, threads, NULL, &b->pool));
    takt_pool_share(b->pool, fill_one, s, s->count);
    return atomic_load(&s->status);
}

static takt_status fill_whole(takt_builder *b, const takt_pack_work *w, const void *from)
{
    const int threads = b->p.plan->threads;
    shared s = {.work = w, .from = from, .count = EACH * (size_t)threads};
    const size_t given = w->is_last && w->name->span != NULL ? w->name->bytes / GIVEN : 0;
    if (given > 1) {
        s.walkers = threads < 1 ? 1 : (size_t)threads;
        s.count = (given + s.walkers - 1) / s.walkers * s.walkers;
        return share(b, &s);
    }
    if (w->name->part == NULL || w->name->bytes < LEAST || threads < 2)
        return w->name->fill(w->user, from, w->to);
    return share(b, &s);
}

/* What `count` parts read, and the most that one of them reads. */
static size_t tally(const shared *s, size_t count, size_t *most)
{
    size_t all = 0, span[2];
    *most = 0;
    for (size_t i = 0; i < count; i++) {
        s->work->name->span(s->work->user, i, count, span);
        if (span[0] >= span[1])
            continue;
        (void)widen(s, span);
        const size_t bytes = span[1] - span[0];
        all += bytes;
        *most = bytes > *most ? bytes : *most;
    }
    return all;
}

/* Every part reads whole grains: where those are long, about `wanted` parts, so that grains of
 * two parts, which are read twice, are at most an eighth. */
static size_t parts(const shared *s, size_t wanted)
{
    size_t most;
    const size_t least = tally(s, 1, &most), grains = least / s->grain;
    size_t count = grains <= 2 * wanted ? grains : wanted;
    while (count > 1 && tally(s, count, &most) > least + least / 8)
        count--;
    return count > 0 ? count : 1;
}

static takt_status fill_late(takt_builder *b, const takt_pack_work *w, size_t grain)
{
    const size_t threads = b->p.plan->threads > 1 ? (size_t)b->p.plan->threads : 1;
    const size_t pieces = (takt_storage_bytes(w->tensor->storage) + PIECE - 1) / PIECE;
    shared s = {.work = w, .grain = grain};
    void *rooms;
    s.count =
        parts(&s, pieces < EACH * threads && w->name->bytes >= LEAST ? EACH * threads : pieces);
    (void)tally(&s, s.count, &s.room);
    s.room = (s.room + LINE - 1) / LINE * LINE;
    TAKT_TRY(takt_mem_get(b->p.ctx, threads * s.room, "weights to pack", &rooms));
    s.rooms = rooms;
    const takt_status status = share(b, &s);
    takt_mem_put(b->p.ctx, rooms, threads * s.room);
    return status;
}

/* Bytes that are in a file alone are read into memory that the next ones reuse. */
static takt_status read_late(takt_builder *b, const takt_tensor *t, const char **bytes)
{
    const size_t size = takt_storage_bytes(t->storage);
    if (takt_storage_room(b->late_room) < size) {
        takt_storage_release(b->late_room); /* first, so that the two never exist together */
        TAKT_TRY(takt_storage_create(b->p.ctx, size, &b->late_room));
    }
    *bytes = (const char *)takt_storage_data(b->late_room) + t->offset;
    return takt_storage_copy(t->storage, takt_storage_data(b->late_room));
}

takt_status takt_builder_fill(takt_builder *b, const takt_pack_work *w)
{
    const takt_tensor *t = w->tensor;
    const char *from;
    /* Asked once: another thread may bring the bytes into memory, and then it is 0. */
    const size_t grain = w->name->span != NULL ? takt_storage_grain(t->storage) : 0;
    if (grain > 0)
        return fill_late(b, w, grain);
    if (takt_storage_is_late(t->storage))
        TAKT_TRY(read_late(b, t, &from));
    else
        from = takt_tensor_data(t);
    return fill_whole(b, w, from + w->offset);
}
