/* visits.h - which steps a new size visits, in one small array.
 *
 * A run fills the caches with weights, and its threads hold the records of steps that they read.
 * What another size costs after that is mostly misses: so steps that stay as they are must not be
 * read at all, and what the next ones are written to is fetched while one is worked on. */
#ifndef TAKT_PLAN_VISITS_H
#define TAKT_PLAN_VISITS_H

#include "plan/answers.h"
#include "plan/builder.h"
#include "plan/reach.h"

typedef struct takt_visit {
    takt_names names;  /* sizes that the step depends on */
    uint32_t position; /* in the builder's sequence */
    bool is_parallel;  /* more than one thread works on it */
} takt_visit;

typedef struct takt_visits {
    takt_visit *list;    /* per step; NULL: there are steps without a group, or it is too early */
    takt_names *buffers; /* per buffer: sizes that its bytes depend on */
    takt_id *parts;      /* slices and concatenations, which may be aliases at some sizes */
    size_t part_count;
    uint32_t *picked; /* the steps to visit for `changed` */
    size_t picked_count;
    takt_names changed;
    takt_visit *room; /* for `list` */
} takt_visits;

/* Whether more than one thread works on it. */
static inline bool takt_step_is_parallel(const takt_step *s)
{
    return s->task_count > 1 || s->shares_pool;
}

/* Gets its memory from the builder's scratch. False: out of memory. */
bool takt_visits_create(takt_visits *v, takt_builder *b);
/* Once every step has been compiled by replay. */
void takt_visits_find(takt_visits *v, const takt_builder *b, const takt_names *reach);
/* Picks the steps that depend on these names. */
void takt_visits_pick(takt_visits *v, const takt_plan *plan, takt_names changed);
/* Steps were changed by something else. */
void takt_visits_renew(takt_visits *v, const takt_plan *plan);
/* What a visit writes to. */
typedef struct takt_visited {
    const takt_plan *plan;
    const takt_answers *answers;
    const size_t *after; /* per step: answers up to its end */
} takt_visited;

/* Fetches where the first picked steps lie. */
void takt_visits_begin(const takt_visits *v, const takt_visited *of);
/* The same for the next ones, while the `at`-th is compiled. */
void takt_visits_ahead(const takt_visits *v, const takt_visited *of, size_t at);
/* Whether values that were views of others still are, at the same places, and no other became one.
 * False: perhaps not. */
bool takt_visits_same_aliases(const takt_visits *v, const takt_builder *b, const takt_names *reach,
                              takt_names changed);

#endif
