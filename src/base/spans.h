/* spans.h - a table from pieces of text to their numbers: keys of a file, tokens of a vocabulary.
 *
 * The caller owns the pieces; the table holds only numbers. Hashes have a seed that the author of a
 * file does not know, so that colliding names cannot be prepared. */
#ifndef TAKT_BASE_SPANS_H
#define TAKT_BASE_SPANS_H

#include "base/arena.h"
#include "base/text.h"

typedef struct takt_spans {
    const takt_span *of; /* by number; borrowed */
    uint32_t *slots;     /* number + 1; 0: empty */
    size_t mask;
    uint64_t seed;
} takt_spans;

/* Room for `count` numbers, in the arena. */
TAKT_MUST_USE takt_status takt_spans_init(takt_spans *s, takt_arena *arena, const takt_span *of,
                                          size_t count);
/* Adds number `index`; false, and no change, if an equal piece is present. */
bool takt_spans_add(takt_spans *s, uint32_t index);
/* Adds number `index`, which takes the place of an equal piece: the number of that, or UINT32_MAX.
 */
uint32_t takt_spans_replace(takt_spans *s, uint32_t index);
/* The number of the piece, or UINT32_MAX. */
uint32_t takt_spans_find(const takt_spans *s, takt_span piece);

#endif
