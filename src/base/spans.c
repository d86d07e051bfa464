/* spans.c - a table with open addressing, at most half full. */
#include "base/spans.h"

#include <string.h>

#include "base/ctx.h"
#include "base/hash.h"

takt_status takt_spans_init(takt_spans *s, takt_arena *arena, const takt_span *of, size_t count)
{
    size_t slots = 16;
    while (slots < 2 * count)
        slots *= 2;
    *s = (takt_spans){.of = of, .mask = slots - 1};
    s->slots = takt_arena_array(arena, slots, sizeof *s->slots);
    if (s->slots == NULL)
        return TAKT_ERR_MEMORY;
    s->seed = takt_hash_word((uint64_t)(uintptr_t)s->slots, (uint64_t)(uintptr_t)s);
    if (arena->ctx->now_ns != NULL)
        s->seed = takt_hash_word(s->seed, arena->ctx->now_ns(arena->ctx->clock_user));
    return TAKT_OK;
}

static bool same(takt_span a, takt_span b)
{
    return a.length == b.length && (a.length == 0 || memcmp(a.at, b.at, a.length) == 0);
}

/* The slot of the piece, or the free slot for it. */
static size_t slot_of(const takt_spans *s, takt_span piece)
{
    size_t slot = (size_t)takt_hash_bytes(s->seed, piece.at, piece.length) & s->mask;
    while (s->slots[slot] != 0 && !same(s->of[s->slots[slot] - 1], piece))
        slot = (slot + 1) & s->mask;
    return slot;
}

bool takt_spans_add(takt_spans *s, uint32_t index)
{
    const size_t slot = slot_of(s, s->of[index]);
    if (s->slots[slot] != 0)
        return false;
    s->slots[slot] = index + 1;
    return true;
}

uint32_t takt_spans_replace(takt_spans *s, uint32_t index)
{
    const size_t slot = slot_of(s, s->of[index]);
    const uint32_t before = s->slots[slot] - 1;
    s->slots[slot] = index + 1;
    return before;
}

uint32_t takt_spans_find(const takt_spans *s, takt_span piece)
{
    return s->slots == NULL ? UINT32_MAX : s->slots[slot_of(s, piece)] - 1;
}
