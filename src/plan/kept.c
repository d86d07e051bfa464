/* kept.c - steps of sizes used before, saved and put back. */
#include "plan/kept.h"

#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

enum { FEWEST = 4, MOST = 16, MEMORY = 4 << 20 };

typedef struct slot {
    uint64_t used; /* time of last use; 0: never */
    bool is_parallel;
} slot;

struct takt_kept {
    takt_ctx *ctx;
    size_t count, bytes, whole; /* slots, bytes of one, and of all with this record */
    uint64_t clock;
    uint64_t seen[MOST]; /* hashes of the sizes asked for last, in a ring: 0 is none */
    size_t next;         /* index of the next one */
    slot slots[MOST];
    unsigned char data[];
};

typedef enum way { COUNT, SAVE, RESTORE } way;

typedef struct walker {
    unsigned char *at;
    size_t bytes;
    way way;
} walker;

static void pass(walker *w, void *data, size_t bytes)
{
    if (w->way == SAVE)
        memcpy(w->at + w->bytes, data, bytes);
    else if (w->way == RESTORE)
        memcpy(data, w->at + w->bytes, bytes);
    w->bytes += bytes;
}

/* Steps come first: restored, they lead to their views. */
static void pass_views(walker *w, const takt_step *s)
{
    if (s->in_count > 0)
        pass(w, s->in, s->in_count * sizeof *s->in);
    if (s->out_count > 0)
        pass(w, s->out, s->out_count * sizeof *s->out);
}

static void pass_blocks(walker *w, const takt_answers *a)
{
    for (size_t i = 0; i < a->count; i++)
        if (a->list[i].what == TAKT_ASKED_BLOCK && a->list[i].bytes > 0)
            pass(w, (void *)(uintptr_t)a->list[i].at, a->list[i].bytes);
}

/* Everything in one order, for saving and restoring. */
static void walk(walker *w, const takt_kept_source *s)
{
    pass(w, s->plan->steps, s->plan->step_count * sizeof *s->plan->steps);
    for (size_t i = 0; i < s->plan->step_count; i++)
        pass_views(w, &s->plan->steps[i]);
    for (size_t i = 0; i < s->sized->step_count; i++) {
        pass(w, &s->sized->steps[i].step, sizeof s->sized->steps[i].step);
        pass_views(w, &s->sized->steps[i].step);
    }
    pass_blocks(w, s->answers);
    pass_blocks(w, s->sized);
}

static size_t sizes_bytes(const takt_plan *plan)
{
    return plan->name_count * sizeof *plan->sizes;
}

static unsigned char *data_of(takt_kept *k, size_t i)
{
    return k->data + i * k->bytes;
}

takt_status takt_kept_create(const takt_kept_source *from, takt_kept **out)
{
    walker w = {.bytes = sizes_bytes(from->plan), .way = COUNT};
    void *block;
    *out = NULL;
    walk(&w, from);
    const size_t fit = MEMORY / w.bytes;
    const size_t count = fit < FEWEST ? FEWEST : fit > MOST ? MOST : fit;
    const size_t whole = sizeof(takt_kept) + count * w.bytes;
    TAKT_TRY(takt_mem_get(from->plan->ctx, whole, "sizes used before", &block));
    takt_kept *k = block;
    *k = (takt_kept){.ctx = from->plan->ctx, .count = count, .bytes = w.bytes, .whole = whole};
    *out = k;
    return TAKT_OK;
}

void takt_kept_destroy(takt_kept *k)
{
    if (k != NULL)
        takt_mem_put(k->ctx, k, k->whole);
}

size_t takt_kept_bytes(const takt_kept *k)
{
    return k != NULL ? k->whole : 0;
}

/* The slot of these sizes; else, if any will do, the least recently used one. */
static slot *find(takt_kept *k, const int64_t *sizes, size_t bytes, bool any)
{
    slot *oldest = &k->slots[0];
    for (size_t i = 0; i < k->count; i++) {
        slot *s = &k->slots[i];
        if (s->used != 0 && memcmp(data_of(k, i), sizes, bytes) == 0)
            return s;
        oldest = s->used < oldest->used ? s : oldest;
    }
    return any ? oldest : NULL;
}

/* Whether these sizes were compiled a short time ago; now they were. */
static bool is_back(takt_kept *k, const int64_t *sizes, size_t bytes)
{
    const uint64_t hash = takt_hash_bytes(1, sizes, bytes) | 1;
    for (size_t i = 0; i < k->count; i++)
        if (k->seen[i] == hash)
            return true;
    k->seen[k->next] = hash;
    k->next = (k->next + 1) % k->count;
    return false;
}

void takt_kept_put(takt_kept *k, const takt_kept_source *from, const int64_t *sizes)
{
    const size_t bytes = sizes_bytes(from->plan);
    slot *s = find(k, sizes, bytes, true);
    walker w = {.at = data_of(k, (size_t)(s - k->slots)), .bytes = bytes, .way = SAVE};
    memcpy(w.at, sizes, bytes);
    walk(&w, from);
    *s = (slot){.used = ++k->clock, .is_parallel = from->plan->is_parallel};
}

void takt_kept_offer(takt_kept *k, const takt_kept_source *from, const int64_t *sizes)
{
    if (is_back(k, sizes, sizes_bytes(from->plan)))
        takt_kept_put(k, from, sizes);
}

bool takt_kept_has(const takt_kept *k, const takt_kept_source *of, const int64_t *sizes)
{
    return find((takt_kept *)(uintptr_t)k, sizes, sizes_bytes(of->plan), false) != NULL;
}

bool takt_kept_get(takt_kept *k, const takt_kept_source *to, const int64_t *sizes)
{
    const size_t bytes = sizes_bytes(to->plan);
    slot *s = find(k, sizes, bytes, false);
    if (s == NULL)
        return false;
    walker w = {.at = data_of(k, (size_t)(s - k->slots)), .bytes = bytes, .way = RESTORE};
    walk(&w, to);
    to->plan->is_parallel = s->is_parallel;
    s->used = ++k->clock;
    return true;
}
