/* pace.h - loops of a task that poll at intervals whether the result is still wanted.
 *
 * A deadline or a cancel must be noticed within about two milliseconds (kernel/poll.h). Work is
 * counted in elements moved or computed, about a nanosecond each; a single item of more work than
 * TAKT_PACE is cut into pieces.
 */
#ifndef TAKT_BACKEND_CPU_PACE_H
#define TAKT_BACKEND_CPU_PACE_H

#include "backend/cpu/element.h"
#include "kernel/convert/convert.h"
#include "plan/plan.h"

enum { TAKT_PACE = 1 << 18 }; /* elements between two polls */

typedef struct takt_pace {
    const takt_poll *poll;
    size_t done; /* since the last poll */
    int bits;    /* of what takt_pace_elements copies */
} takt_pace;

static inline takt_pace takt_pace_of(const takt_task *t)
{
    return (takt_pace){.poll = t->poll};
}

static inline takt_pace takt_pace_bits(const takt_task *t, int bits)
{
    return (takt_pace){.poll = t->poll, .bits = bits};
}

/* After `work` more elements: whether the task must end. */
static inline bool takt_pace_stops(takt_pace *p, size_t work)
{
    p->done += work;
    if (p->done < TAKT_PACE)
        return false;
    p->done = 0;
    return takt_poll_stops(p->poll);
}

/* How many items of `work` elements each make a piece; at least `grain`, and a multiple of it. */
static inline size_t takt_pace_piece(size_t work, size_t grain)
{
    return (1 + TAKT_PACE / (work + 1) / grain) * grain;
}

/* takt_copy_elements in pieces; false: the task must end. Most copies are short and frequent. */
bool takt_pace_pieces(takt_pace *p, void *to, size_t at, const void *from, size_t from_at,
                      size_t n);
static inline bool takt_pace_elements(takt_pace *p, void *to, size_t at, const void *from,
                                      size_t from_at, size_t n)
{
    if (n == 0)
        return true;
    if (n > TAKT_PACE)
        return takt_pace_pieces(p, to, at, from, from_at, n);
    takt_copy_elements(p->bits, to, at, from, from_at, n);
    return !takt_pace_stops(p, n);
}
/* The same for whole bytes, and for elements that are converted, from the first on. */
void takt_pace_copy(const takt_task *t, void *to, const void *from, size_t bytes);
void takt_pace_convert(const takt_task *t, takt_convert_fn *convert, const takt_convert *how,
                       void *to, const void *from, size_t count);

#endif
