/* guests.c - values of the arena that lie in an output's memory until the output is written.
 *
 * An output's memory is the run's for its whole duration, but the output itself is there only from
 * the step on that writes it. Where the arena has no room for it, values that are gone by then need
 * none of their own. As in donate.c, one fits if it needs no more bytes and no stricter alignment
 * than the output: bound buffers are only as aligned as their elements.
 *
 * Not for subgraphs, whose results may lie where their inputs were. */
#include "plan/builder.h"

/* Whether saving the output's bytes is worth a second look at the arena of a small plan. */
static bool is_worth_it(const takt_builder *b, const takt_output_life *life)
{
    enum { PART = 64, BUFFERS = 512 };
    const takt_plan *plan = b->p.plan;
    return plan->buffer_count <= BUFFERS && life->bytes >= plan->arena_bytes / PART;
}

static bool takes_guests(const takt_builder *b)
{
    return takt_ports_share(b) && !b->p.settings->is_body && b->latest == NULL;
}

static int bits_of(const takt_builder *b, takt_id node)
{
    return takt_dtype_bits(takt_type_of(b->p.graph, node)->dtype);
}

/* The value that is gone last before step `until`; NULL: there is none. */
static takt_buffer *next_guest(const takt_builder *b, size_t output, size_t bytes, int until)
{
    takt_plan *plan = b->p.plan;
    const int bits = bits_of(b, b->p.graph->outputs[output].id);
    takt_buffer *best = NULL;
    for (size_t i = 0; i < plan->buffer_count; i++) {
        takt_buffer *guest = &plan->buffers[i];
        if (guest->place == TAKT_PLACE_ARENA && guest->space == TAKT_HOST && guest->first >= 0 &&
            guest->value != TAKT_NONE && guest->last < until && guest->bytes <= bytes &&
            bits_of(b, guest->value) <= bits && (best == NULL || guest->last > best->last))
            best = guest;
    }
    return best;
}

/* From the end on, so that the step that writes the output gains most. */
static bool fill(const takt_builder *b, size_t output, const takt_output_life *life)
{
    int until = life->first;
    takt_buffer *guest;
    while ((guest = next_guest(b, output, life->bytes, until)) != NULL) {
        guest->place = TAKT_PLACE_OUTPUT;
        guest->index = (uint32_t)output;
        guest->is_guest = true;
        until = guest->first;
    }
    return until < life->first;
}

bool takt_guests_invite(const takt_builder *b)
{
    const takt_plan *plan = b->p.plan;
    bool any = false;
    for (size_t i = 0; i < plan->graph->output_count && takes_guests(b); i++) {
        takt_output_life life;
        if (plan->output_at[i] == SIZE_MAX && takt_output_lives(plan, i, &life) &&
            is_worth_it(b, &life))
            any |= fill(b, i, &life);
    }
    return any;
}

void takt_guests_leave(takt_plan *plan)
{
    for (size_t i = 0; i < plan->buffer_count; i++)
        if (plan->buffers[i].is_guest) {
            plan->buffers[i].is_guest = false;
            plan->buffers[i].place = TAKT_PLACE_ARENA;
            plan->buffers[i].index = 0;
        }
}
