/* repeat.h - the body of a loop in which values decide sizes: they differ in every iteration.
 *
 * Its plan is made for the largest sizes, and resized in place in the middle of an iteration, as a
 * session does it (resize.h). Sizes that it cannot be given have a separate plan, made on demand
 * and kept; the iteration then starts over with that. Sessions of one plan use it one at a time. */
#ifndef TAKT_PLAN_REPEAT_H
#define TAKT_PLAN_REPEAT_H

#include "kernel/poll.h"
#include "plan/execute.h"

typedef struct takt_repeat takt_repeat;

/* Whether values decide sizes in `g`. */
bool takt_repeat_finds(const takt_graph *g);
/* The plan of the graph of `basis`, after all passes, and with it the body, which is freed with it.
 * Settings have the sizes of the enclosing graph; if they have none, it mentions none. */
TAKT_MUST_USE takt_status takt_repeat_create(takt_basis *basis, const takt_plan_settings *settings,
                                             takt_plan **plan);
/* Other sizes of the enclosing graph, not larger than those it was made for; `*graph` is then the
 * graph it computes, with its own sizes as planned. */
TAKT_MUST_USE takt_status takt_repeat_resize(takt_repeat *b, const int64_t *sizes, size_t count,
                                             const takt_graph **graph, bool *done);
void takt_repeat_destroy(takt_repeat *b); /* accepts NULL */
/* Sizes that need more than the arena of the largest are refused from now on. */
void takt_repeat_limit(takt_repeat *b);
/* The plan that runs, at the largest sizes. */
const takt_plan *takt_repeat_plan(const takt_repeat *b);

/* Brackets the loop from its first iteration to its last. False: a deadline or a cancel ended the
 * wait for another session in the loop; then do not call the end function. */
TAKT_MUST_USE bool takt_repeat_begin(takt_repeat *b, const takt_poll *poll);
void takt_repeat_end(takt_repeat *b);
/* One iteration; `x` has no plan yet, and its arena is as large as that of the first plan. `in` and
 * `out`: addresses of inputs and results. */
TAKT_MUST_USE takt_status takt_repeat_iterate(takt_repeat *b, takt_execution *x, void **base,
                                              const void *const *in, void *const *out);
/* Addresses of the buffers of a subgraph's plan. */
void takt_repeat_bind(const takt_plan *plan, unsigned char *arena, const void *const *in,
                      void *const *out, void **base);

#endif
