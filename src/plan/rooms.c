/* rooms.c - places in the arena that a plan takes from one for larger sizes of a range. */
#include "base/mem.h"
#include "base/size.h"
#include "plan/builder.h"

static size_t aligned(size_t bytes)
{
    return takt_round_up(bytes, TAKT_ALIGN);
}

/* The next buffer at or after `at` that is not a constant: which constants exist depends on the
 * packs that were found. */
static size_t next_buffer(const takt_plan *plan, size_t at)
{
    while (at < plan->buffer_count && plan->buffers[at].place == TAKT_PLACE_CONSTANT)
        at++;
    return at;
}

static bool has_room(const takt_buffer *own, const takt_buffer *room)
{
    if (own->place != room->place || own->index != room->index)
        return false;
    return own->place != TAKT_PLACE_ARENA ||
           (own->space == room->space && own->first == room->first && own->last == room->last &&
            aligned(own->bytes) <= aligned(room->bytes));
}

/* Everything fits where its counterpart in the other plan is, and lives no longer. */
bool takt_rooms_suffice(const takt_plan *plan, const takt_plan *rooms)
{
    if (rooms == NULL || plan->step_count != rooms->step_count || plan->threads != rooms->threads)
        return false;
    size_t i = next_buffer(plan, 0), k = next_buffer(rooms, 0);
    for (; i < plan->buffer_count && k < rooms->buffer_count;
         i = next_buffer(plan, i + 1), k = next_buffer(rooms, k + 1))
        if (!has_room(&plan->buffers[i], &rooms->buffers[k]))
            return false;
    if (i < plan->buffer_count || k < rooms->buffer_count)
        return false;
    for (size_t s = 0; s < plan->step_count; s++)
        if (takt_step_scratch(&plan->steps[s], plan->threads) >
            takt_step_scratch(&rooms->steps[s], rooms->threads))
            return false;
    return true;
}

void takt_plan_reach(takt_plan *plan, takt_space space, size_t end)
{
    size_t *arena = &plan->space[space].arena;
    *arena = end > *arena ? end : *arena;
}

/* The arena ends with its last item. */
void takt_rooms_take(takt_plan *plan, const takt_plan *rooms)
{
    for (size_t i = next_buffer(plan, 0), k = next_buffer(rooms, 0); i < plan->buffer_count;
         i = next_buffer(plan, i + 1), k = next_buffer(rooms, k + 1)) {
        takt_buffer *own = &plan->buffers[i];
        if (own->place != TAKT_PLACE_ARENA || own->first == TAKT_AT_BEGIN)
            continue;
        own->offset = rooms->buffers[k].offset;
        takt_plan_reach(plan, own->space, own->offset + aligned(own->bytes));
    }
    for (size_t i = 0; i < plan->step_count; i++) {
        takt_step *own = &plan->steps[i];
        const size_t bytes = takt_step_scratch(own, plan->threads);
        own->scratch_offset = rooms->steps[i].scratch_offset;
        if (bytes > 0)
            takt_plan_reach(plan, own->space, own->scratch_offset + bytes);
    }
}
