/* kept.h - the steps of a plan as they were at sizes that it had before.
 *
 * Going back to such a size copies them from here: nothing is compiled. A few sizes are kept, in
 * preallocated memory; the least recently used one is replaced. A size is kept when it comes for
 * the second time: copying the steps of a size that never returns would be a quarter of its cost.
 */
#ifndef TAKT_PLAN_KEPT_H
#define TAKT_PLAN_KEPT_H

#include "plan/answers.h"

typedef struct takt_kept takt_kept;

/* The parts of a plan that depend on sizes: its steps, constant ones, and their memory. */
typedef struct takt_kept_source {
    takt_plan *plan;
    const takt_answers *answers;
    takt_answers *sized;
} takt_kept_source;

TAKT_MUST_USE takt_status takt_kept_create(const takt_kept_source *from, takt_kept **out);
void takt_kept_destroy(takt_kept *k);       /* accepts NULL */
size_t takt_kept_bytes(const takt_kept *k); /* accepts NULL */
/* Saves the current contents of the source under these sizes. */
void takt_kept_put(takt_kept *k, const takt_kept_source *from, const int64_t *sizes);
/* The same, if these sizes were offered before, a short time ago. */
void takt_kept_offer(takt_kept *k, const takt_kept_source *from, const int64_t *sizes);
bool takt_kept_has(const takt_kept *k, const takt_kept_source *of, const int64_t *sizes);
/* Restores the source's contents at these sizes; false: they are not kept. */
bool takt_kept_get(takt_kept *k, const takt_kept_source *to, const int64_t *sizes);

#endif
