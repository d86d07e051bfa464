/* donate.c - inputs that steps may overwrite: their bytes hold other values once they are read.
 *
 * A value fits if it needs no more bytes and no stricter alignment than the input has: bound
 * buffers are only as aligned as their elements. */
#include <string.h>

#include "base/written.h"
#include "plan/builder.h"

bool takt_builder_is_donated(const takt_builder *b, const takt_buffer *buffer)
{
    const char *words = b->p.settings->donated;
    /* If values decide sizes, a run may start over, and reads its inputs twice. */
    if (buffer->place != TAKT_PLACE_INPUT || !b->p.settings->reuse || b->latest != NULL)
        return false;
    while (words != NULL && *words != '\0') {
        const size_t length = takt_written_length(words, ",");
        if (takt_written_is((takt_span){words, length},
                            takt_span_of(b->p.graph->inputs[buffer->index].name)))
            return true;
        words += length + (words[length] == ',');
    }
    return false;
}

static int bits_of(const takt_builder *b, takt_id node)
{
    return takt_dtype_bits(takt_type_of(b->p.graph, node)->dtype);
}

/* Buffers are numbered by their first use, so one sweep can pass the input's memory from one to the
 * next. */
static void lend(takt_builder *b, const takt_buffer *host)
{
    takt_plan *plan = b->p.plan;
    const int bits = bits_of(b, b->p.graph->inputs[host->index].id);
    int busy = host->last;
    for (size_t i = 0; i < plan->buffer_count; i++) {
        takt_buffer *guest = &plan->buffers[i];
        if (guest->place != TAKT_PLACE_ARENA || guest->space != TAKT_HOST ||
            guest->value == TAKT_NONE || guest->first <= busy || guest->bytes > host->bytes ||
            bits_of(b, guest->value) > bits)
            continue;
        guest->place = TAKT_PLACE_INPUT;
        guest->index = host->index;
        busy = guest->last;
    }
}

void takt_builder_donate(takt_builder *b)
{
    takt_plan *plan = b->p.plan;
    const size_t count = b->p.settings->donated != NULL ? plan->buffer_count : 0;
    for (size_t i = 0; i < count; i++)
        if (takt_builder_is_donated(b, &plan->buffers[i]) &&
            plan->buffer_of[b->p.graph->inputs[plan->buffers[i].index].id] == i)
            lend(b, &plan->buffers[i]);
}
