/* domain.h - the range of a variable: names, or numbers from 0 on. */
#ifndef TAKT_LOGIC_DOMAIN_H
#define TAKT_LOGIC_DOMAIN_H

#include "base/arena.h"
#include "ir/dim.h"

typedef struct takt_domain {
    const char *name;
    takt_dim size;
    bool is_open; /* all numbers of an i32 from 0 on: its relations are sets of tuples */
    const takt_span *entries; /* `size` names; NULL: numbers */
    struct {
        uint32_t entry, tag; /* index + 1, 0 for none; the upper half of its hash */
    } * table;               /* open addressing */
    size_t table_size;
} takt_domain;

/* A domain with names, in an arena: `text` is copied. One name per line; blank lines and those that
 * begin with # are skipped. `file`: for messages. */
TAKT_MUST_USE takt_status takt_domain_read(takt_arena *arena, const char *name, const char *file,
                                           takt_span text, takt_domain **domain);
/* From names that live as long as the arena. */
TAKT_MUST_USE takt_status takt_domain_of(takt_arena *arena, const char *name,
                                         const takt_span *entries, size_t count,
                                         takt_domain **domain);

/* The number of an entry, by its name or in digits if it has none; false if there is no such entry.
 * A domain whose size is not a number accepts any number. */
bool takt_domain_find(const takt_domain *domain, takt_span name, uint32_t *index);
/* The same in stages, for many names at a time; each stage prefetches what the next one reads:
 * first the name's slot in the table, then its entry, then that entry's text. */
uint64_t takt_domain_hash(takt_span name);
enum { TAKT_DOMAIN_STAGES = 3 };
void takt_domain_prefetch(const takt_domain *domain, uint64_t hash, int stage);
bool takt_domain_find_hashed(const takt_domain *domain, takt_span name, uint64_t hash,
                             uint32_t *index);
/* An entry that resembles `name`, or NULL; in `buffer`. */
enum { TAKT_DOMAIN_HINT = 128 };
const char *takt_domain_nearest(const takt_domain *domain, takt_span name,
                                char buffer[static TAKT_DOMAIN_HINT]);
/* The name of an entry, or its number in digits; adds to `text`. */
void takt_domain_entry(const takt_domain *domain, uint32_t index, takt_text *text);

#endif
