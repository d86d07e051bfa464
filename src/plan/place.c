/* place.c - offsets of everything in the arena, decided once for all runs.
 *
 * Several placements are made and the smallest one kept: in order of time with best fit (n log n in
 * practice); for plans of ordinary size also largest first and longest life first, each item at the
 * best gap that is free for its whole life (close to optimal, quadratic); and as long as that is
 * above the bound, again with the item that ends highest placed earlier, and finally with two items
 * of the best order swapped, always the same pairs. A plan for a smaller size of a range takes the
 * places of the range's top. The lower bound is the most bytes that are alive at one step of this
 * order: no placement can need less. */
#include <string.h>

#include "base/mem.h"
#include "base/size.h"
#include "base/sort.h"
#include "plan/builder.h"

enum { QUADRATIC_LIMIT = 4096, SEARCH_LIMIT = 512, SEARCHES = 32 };
enum { SWAP_LIMIT = 160, SWAPS = 800 };

typedef struct item {
    size_t bytes; /* multiple of 64 */
    int first, last;
    size_t offset;
    size_t *result; /* destination of the offset */
    uint32_t order; /* ties are broken by it, so the result is the same everywhere */
} item;

static bool by_size(const void *pa, const void *pb)
{
    const item *a = pa, *b = pb;
    return a->bytes != b->bytes ? a->bytes > b->bytes : a->order < b->order;
}

static bool by_life(const void *pa, const void *pb)
{
    const item *a = pa, *b = pb;
    const int life_a = a->last - a->first, life_b = b->last - b->first;
    return life_a != life_b ? life_a > life_b : by_size(a, b);
}

static bool by_time(const void *pa, const void *pb)
{
    const item *a = pa, *b = pb;
    return a->first != b->first ? a->first < b->first : by_size(a, b);
}

static bool meet(const item *a, const item *b)
{
    return a->first <= b->last && b->first <= a->last;
}

/* Inserts `it` into `placed`, which is sorted by offset, at the smallest gap that takes it (or at
 * the end); `expire` drops items that ended before it began. */
static size_t insert(item **placed, size_t count, item *it)
{
    size_t at = 0, best = SIZE_MAX, best_gap = SIZE_MAX;
    for (size_t i = 0; i < count; i++) {
        if (!meet(placed[i], it))
            continue;
        if (placed[i]->offset >= at + it->bytes && placed[i]->offset - at < best_gap) {
            best = at;
            best_gap = placed[i]->offset - at;
        }
        if (placed[i]->offset + placed[i]->bytes > at)
            at = placed[i]->offset + placed[i]->bytes;
    }
    it->offset = best != SIZE_MAX ? best : at;
    size_t slot = count;
    while (slot > 0 && placed[slot - 1]->offset > it->offset) {
        placed[slot] = placed[slot - 1];
        slot--;
    }
    placed[slot] = it;
    return count + 1;
}

static size_t expire(item **placed, size_t count, int now)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (placed[i]->last >= now)
            placed[kept++] = placed[i];
    return kept;
}

/* Total size after placing `items` in the order given. */
static size_t place(item **items, size_t count, item **placed, bool in_time)
{
    size_t total = 0, held = 0;
    for (size_t i = 0; i < count; i++) {
        if (in_time)
            held = expire(placed, held, items[i]->first);
        held = insert(placed, held, items[i]);
        const size_t end = items[i]->offset + items[i]->bytes;
        total = end > total ? end : total;
    }
    return total;
}

static void keep(item **items, size_t count)
{
    for (size_t i = 0; i < count; i++)
        *items[i]->result = items[i]->offset;
}

typedef struct best {
    item **items;
    size_t count;
    item **placed;
    takt_plan_space *space;
    item **order; /* the best one so far */
    size_t total; /* what it needed */
} best;

/* Places the items in their order, and keeps the offsets if they need less than any before. */
static void try_order(best *b)
{
    const size_t total = place(b->items, b->count, b->placed, false);
    if (total <= b->total) {
        b->total = total;
        memcpy(b->order, b->items, b->count * sizeof *b->order);
    }
    if (total >= b->space->arena)
        return;
    b->space->arena = total;
    keep(b->items, b->count);
}

static bool is_optimal(const best *b)
{
    return b->space->arena == b->space->lower_bound;
}

/* Repeatedly moves the item that ends highest half-way to the front. */
static void search(best *b)
{
    for (int round = 0; round < SEARCHES && !is_optimal(b); round++) {
        size_t highest = 0, end = 0;
        for (size_t i = 0; i < b->count; i++)
            if (b->items[i]->offset + b->items[i]->bytes > end) {
                highest = i;
                end = b->items[i]->offset + b->items[i]->bytes;
            }
        item *it = b->items[highest];
        const size_t to = highest / 2;
        memmove(b->items + to + 1, b->items + to, (highest - to) * sizeof(item *));
        b->items[to] = it;
        try_order(b);
    }
}

/* Swaps two items of the best order; continues from the result if it is not worse. */
static void swap(best *b)
{
    uint32_t state = 1;
    for (int round = 0; round < SWAPS && !is_optimal(b); round++) {
        size_t at[2];
        for (int i = 0; i < 2; i++) {
            state = state * 1664525u + 1013904223u;
            at[i] = (state >> 8) % b->count;
        }
        memcpy(b->items, b->order, b->count * sizeof *b->items);
        item *first = b->items[at[0]];
        b->items[at[0]] = b->items[at[1]];
        b->items[at[1]] = first;
        try_order(b);
    }
}

/* Without sharing: one after another. */
static size_t lay_out(item **items, size_t count)
{
    size_t total = 0;
    for (size_t i = 0; i < count; i++) {
        items[i]->offset = total;
        total += items[i]->bytes;
    }
    return total;
}

static size_t lower_bound(item **items, size_t count, int64_t *change, size_t steps)
{
    for (size_t i = 0; i < count; i++) {
        change[items[i]->first + 1] += (int64_t)items[i]->bytes;
        change[items[i]->last + 2] -= (int64_t)items[i]->bytes;
    }
    int64_t live = 0, most = 0;
    for (size_t s = 0; s < steps + 3; s++) {
        live += change[s];
        most = live > most ? live : most;
    }
    return (size_t)most;
}

/* ---- the whole ---- */

takt_status takt_builder_align_scratch(takt_builder *b, takt_step *s)
{
    const size_t parts = s->task_count == 1 ? 1 : (size_t)b->p.plan->threads;
    size_t all;
    if (takt_size_align(s->scratch_each, TAKT_ALIGN, &s->scratch_each) &&
        takt_size_mul(s->scratch_each, parts, &all) &&
        takt_size_align(s->scratch_bytes, TAKT_ALIGN, &s->scratch_bytes) &&
        takt_size_add(all, s->scratch_bytes, &all))
        return TAKT_OK;
    return takt_fail(b->p.ctx, TAKT_E_OVERFLOW, "the scratch of step %s is too large", s->name);
}

static takt_status collect(takt_builder *b, takt_space space, item *items, item **list,
                           size_t *count)
{
    takt_plan *plan = b->p.plan;
    const size_t align =
        space == TAKT_HOST ? TAKT_ALIGN : plan->space[space].backend->device->alignment;
    size_t n = 0;
    for (size_t i = 0; i < plan->buffer_count; i++) {
        takt_buffer *buffer = &plan->buffers[i];
        if (buffer->place != TAKT_PLACE_ARENA || buffer->space != space ||
            buffer->first == TAKT_AT_BEGIN)
            continue;
        items[n] = (item){.bytes = buffer->bytes,
                          .first = buffer->first,
                          .last = buffer->last,
                          .result = &buffer->offset,
                          .order = (uint32_t)n};
        n++;
    }
    for (size_t i = 0; i < plan->step_count; i++) {
        takt_step *s = &plan->steps[i];
        const size_t all = takt_step_scratch(s, plan->threads);
        if (s->space != space || all == 0)
            continue;
        plan->scratch_bytes = all > plan->scratch_bytes ? all : plan->scratch_bytes;
        items[n] = (item){.bytes = all,
                          .first = (int)i,
                          .last = (int)i,
                          .result = &s->scratch_offset,
                          .order = (uint32_t)n};
        n++;
    }
    size_t total = 0;
    for (size_t i = 0; i < n; i++) {
        list[i] = &items[i];
        if (!takt_size_align(items[i].bytes, align, &items[i].bytes) ||
            !takt_size_add(total, items[i].bytes, &total) || total > INT64_MAX)
            return takt_fail(b->p.ctx, TAKT_E_OVERFLOW, "the plan's values do not fit in memory");
    }
    plan->space[space].unshared = total;
    *count = n;
    return TAKT_OK;
}

/* The best of several placements. */
static void place_best(const takt_builder *b, item **list, size_t count, item **placed,
                       item **order, takt_plan_space *space)
{
    if (!b->p.settings->reuse) {
        space->arena = lay_out(list, count);
        keep(list, count);
        return;
    }
    takt_sort_pointers((const void **)list, count, by_time);
    space->arena = place(list, count, placed, true);
    keep(list, count);
    if (count > QUADRATIC_LIMIT || space->arena == space->lower_bound)
        return;
    best found = {list, count, placed, space, order, SIZE_MAX};
    bool (*const orders[])(const void *, const void *) = {by_size, by_life};
    for (size_t i = 0; i < 2 && !is_optimal(&found); i++) {
        takt_sort_pointers((const void **)list, count, orders[i]);
        try_order(&found);
        if (count <= SEARCH_LIMIT)
            search(&found);
    }
    if (count <= SWAP_LIMIT)
        swap(&found);
}

/* The outputs as further items; returns how many there are then. */
static size_t add_outputs(const takt_builder *b, item *items, size_t count)
{
    const takt_plan *plan = b->p.plan;
    for (size_t i = 0; i < plan->graph->output_count && takt_ports_share(b); i++) {
        takt_output_life life;
        if (!takt_output_lives(plan, i, &life))
            continue;
        items[count] = (item){.bytes = takt_round_up(life.bytes, TAKT_ALIGN),
                              .first = life.first,
                              .last = (int)plan->step_count,
                              .result = &plan->output_at[i],
                              .order = (uint32_t)count};
        count++;
    }
    return count;
}

static void refer(item *items, item **list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        list[i] = &items[i];
}

/* The arena with all outputs in it, if it is the smallest one that there can be without them. */
static bool place_with_outputs(takt_builder *b, item *items, size_t count, best *room,
                               int64_t *change)
{
    takt_plan *plan = b->p.plan;
    const size_t all = add_outputs(b, items, count);
    refer(items, room->items, all);
    memset(change, 0, (plan->step_count + 4) * sizeof *change);
    if (all == count ||
        lower_bound(room->items, all, change, plan->step_count) > room->space->lower_bound)
        return false;
    place_best(b, room->items, all, room->placed, room->order, room->space);
    if (is_optimal(room))
        return true;
    for (size_t i = count; i < all; i++)
        *items[i].result = SIZE_MAX;
    return false;
}

static takt_status place_space(takt_builder *b, takt_space space, bool has_room)
{
    takt_plan *plan = b->p.plan;
    const size_t most = plan->buffer_count + plan->step_count + plan->graph->output_count;
    item *items = takt_arena_array(&b->scratch, most, sizeof *items);
    item **list = takt_arena_array(&b->scratch, most, sizeof *list);
    item **placed = takt_arena_array(&b->scratch, most + 1, sizeof *placed);
    item **order = takt_arena_array(&b->scratch, most + 1, sizeof *order);
    int64_t *change = takt_arena_array(&b->scratch, plan->step_count + 4, sizeof *change);
    if (items == NULL || list == NULL || placed == NULL || order == NULL || change == NULL)
        return TAKT_ERR_MEMORY;
    size_t count = 0;
    TAKT_TRY(collect(b, space, items, list, &count));
    plan->space[space].lower_bound = lower_bound(list, count, change, plan->step_count);
    best room = {list, count, placed, &plan->space[space], order, SIZE_MAX};
    if (!has_room && !place_with_outputs(b, items, count, &room, change)) {
        refer(items, list, count);
        place_best(b, list, count, placed, order, &plan->space[space]);
    }
    if (space != TAKT_HOST && count > 0) /* values without elements need an address, too */
        takt_plan_reach(plan, space, plan->space[space].backend->device->alignment);
    return TAKT_OK;
}

static takt_status place_all(takt_builder *b, bool has_room)
{
    takt_plan *plan = b->p.plan;
    TAKT_TRY(takt_ports_begin(b));
    for (size_t i = 0; i < plan->space_count; i++)
        TAKT_TRY(place_space(b, (takt_space)i, has_room));
    if (has_room)
        takt_rooms_take(plan, b->p.settings->rooms);
    TAKT_TRY(takt_builder_place_forms(b)); /* outputs may lie where they were */
    plan->arena_bytes = plan->space[TAKT_HOST].arena;
    return takt_ports_fill(b);
}

/* Values in the memory of outputs, if the arena then is smaller, and no more outputs need memory
 * outside of it than that saves. */
static takt_status place_guests(takt_builder *b)
{
    takt_plan *plan = b->p.plan;
    const size_t arena = plan->arena_bytes, outside = takt_ports_outside(plan);
    if (!takt_guests_invite(b))
        return TAKT_OK;
    TAKT_TRY(place_all(b, false));
    if (plan->arena_bytes < arena &&
        plan->arena_bytes + takt_ports_outside(plan) <= arena + outside)
        return TAKT_OK;
    takt_guests_leave(plan);
    return place_all(b, false);
}

takt_status takt_builder_place(takt_builder *b)
{
    takt_plan *plan = b->p.plan;
    for (size_t i = 0; i < plan->step_count; i++)
        TAKT_TRY(takt_builder_align_scratch(b, &plan->steps[i]));
    const bool has_room = takt_rooms_suffice(plan, b->p.settings->rooms);
    TAKT_TRY(place_all(b, has_room));
    if (!has_room)
        TAKT_TRY(place_guests(b));
    plan->lower_bound = plan->space[TAKT_HOST].lower_bound;
    plan->unshared_bytes = plan->space[TAKT_HOST].unshared;
    return TAKT_OK;
}
